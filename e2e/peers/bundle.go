//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

const bundleName, tarName, orasName, regctlName = "tofu-oci", "tar", "oras cp", "regctl image import"

// bundled returns the directory of an image layout with a large package, and a bundle of
// it. It creates them on first use.
func (s *site) bundled(ctx context.Context) (layout, bundle string, err error) {
	layout, bundle = filepath.Join(s.dir, "layout", bigType(0)), filepath.Join(s.dir, "layout.tar")
	if _, err := os.Stat(bundle); err == nil {
		return layout, bundle, nil
	}
	if err := s.offerBig(ctx, bigType(0), true, s.big[0]); err != nil {
		return layout, bundle, err
	}
	for _, args := range [][]string{
		{"mirror", namespace + "/" + bigType(0), "--to", "oci-layout:" + filepath.Dir(layout) + "/{type}"},
		s.createArgs(bundle),
	} {
		if _, err := s.ours(s.dir, args...).run(ctx); err != nil {
			return layout, bundle, err
		}
	}
	return layout, bundle, nil
}

func (s *site) createArgs(bundle string) []string {
	return []string{"bundle", "create", namespace + "/" + bigType(0), "--from", "oci-layout:" + filepath.Join(s.dir, "layout") + "/{type}", "--out", bundle}
}

func (s *site) theirs(dir string, args ...string) command {
	return command{args: args, dir: dir, environ: s.environ(), stdout: filepath.Join(dir, "stdout")}
}

// bundleCreate returns the work of writing an image layout to an archive.
func (s *site) bundleCreate() work {
	isWritten := func(name string) func(context.Context) error {
		return func(context.Context) error {
			if info, err := os.Stat(name); err != nil || info.Size() < s.big[0].size {
				return fmt.Errorf("the archive is incomplete: %w", err)
			}
			return nil
		}
	}
	return work{
		name:  "bundle create",
		ready: func(ctx context.Context) error { _, _, err := s.bundled(ctx); return err },
		doers: []doer{
			{bundleName, func(_ context.Context, dir string) (task, error) {
				name := filepath.Join(dir, "out.tar")
				return task{command: s.ours(dir, s.createArgs(name)...), right: isWritten(name)}, nil
			}},
			{tarName, func(ctx context.Context, dir string) (task, error) {
				layout, _, err := s.bundled(ctx)
				name := filepath.Join(dir, "out.tar")
				return task{command: s.theirs(dir, s.tar, "--create", "--file", name, "--directory", layout, "."), right: isWritten(name)}, err
			}},
		},
		rows: []row{{"`bundle create` of a 300 MB zip in an image layout", bundleName, []string{tarName}, 1.67}},
	}
}

// bundleImport returns the work of pushing a large package from a bundle, or from the
// same image layout, to an empty registry.
func (s *site) bundleImport() work {
	push := func(name string, args func(layout, bundle, host string) []string) doer {
		return doer{name, func(ctx context.Context, dir string) (task, error) {
			layout, bundle, err := s.bundled(ctx)
			if err != nil {
				return task{}, err
			}
			host, stop, err := s.startRegistry(ctx)
			want := map[string]release{bigVersion: {s.here: s.big[0].digest}}
			c := s.theirs(dir, args(layout, bundle, host)...)
			if name == bundleName {
				c = s.ours(dir, args(layout, bundle, host)...)
			}
			return task{command: c, right: s.isMirrored(host+"/v2/"+namespace+"/"+bigType(0), want, true), done: stop}, err
		}}
	}
	repository := func(host string) string { return host + "/" + namespace + "/" + bigType(0) + ":" + bigVersion }
	return work{
		name:  "bundle import",
		ready: func(ctx context.Context) error { _, _, err := s.bundled(ctx); return err },
		doers: []doer{
			push(bundleName, func(_, bundle, host string) []string {
				return []string{"bundle", "import", bundle, "--to", host + "/{namespace}/{type}"}
			}),
			push(orasName, func(layout, _, host string) []string {
				return []string{s.oras, "copy", "--to-plain-http=false", "--from-oci-layout", layout + ":" + bigVersion, repository(host)}
			}),
			push(regctlName, func(_, bundle, host string) []string {
				return []string{s.regctl, "image", "import", repository(host), bundle}
			}),
		},
		rows: []row{{"`bundle import` of a 300 MB zip to a registry", bundleName, []string{orasName, regctlName}, 1.1}},
	}
}
