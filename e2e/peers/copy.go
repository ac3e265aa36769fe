//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// sameType is the type of the provider whose versions have the same zips.
	sameType = "same"
	// singleType is the type of the provider with many versions for one platform.
	singleType = "single"
)

// copyBig returns the work of copying one large package to a different registry.
func (s *site) copyBig() work {
	return work{
		name:  "copy 1",
		ready: func(ctx context.Context) error { return s.bigPackages(ctx, 1) },
		doers: []doer{
			s.copyOurs(bigType(0), 1), s.copyTheirs(bigType(0), "regctl image copy", s.regctl+" image copy", bigVersion),
			s.copyTheirs(bigType(0), "crane copy", s.crane+" copy", bigVersion),
		},
		rows: []row{{"`copy` of a 300 MB zip to a different registry", "tofu-oci", []string{"regctl image copy", "crane copy"}, 0.75}},
	}
}

// copySame returns the work of copying several versions with the same zips to a different
// registry.
func (s *site) copySame() work {
	var versions []string
	releases := map[string]map[provider.Platform]origintest.Archive{}
	for i := range smallVersions {
		versions = append(versions, smallVersion(i))
		releases[smallVersion(i)] = archives(s.small[0])
	}
	return work{
		name: "copy 20",
		ready: func(ctx context.Context) error {
			if err := s.offer(ctx, sameType, true, releases); err != nil {
				return err
			}
			return s.fill(ctx, sameType, namespace+"/"+sameType)
		},
		doers: []doer{s.copyOurs(sameType, smallVersions), s.copyTheirs(sameType, "crane copy", s.crane+" copy", versions...)},
		rows: []row{{
			fmt.Sprintf("`copy` of %d versions × %d platforms of 7 MB, the same zips in all versions", smallVersions, len(smallPlatforms)),
			"tofu-oci", []string{"crane copy"}, 1,
		}},
		memoryOnly: true,
	}
}

// archives returns packages as archives of an origin registry.
func archives(packages map[provider.Platform]archive) map[provider.Platform]origintest.Archive {
	all := map[provider.Platform]origintest.Archive{}
	for p, a := range packages {
		all[p] = origintest.Archive{Path: a.path}
	}
	return all
}

func (s *site) copyOurs(typ string, versions int) doer {
	return doer{"tofu-oci", func(ctx context.Context, dir string) (task, error) {
		host, stop, err := s.startRegistry(ctx)
		c := s.ours(dir, "copy", namespace+"/"+typ, "--all", "--from", s.host+"/{namespace}/{type}", "--to", host+"/{namespace}/{type}")
		return task{command: c, right: s.hasTags(host+"/v2/"+namespace+"/"+typ, versions), done: stop}, err
	}}
}

// copyTheirs returns a doer that runs a command for each version.
func (s *site) copyTheirs(typ, name, copyCommand string, versions ...string) doer {
	return doer{name, func(ctx context.Context, dir string) (task, error) {
		host, stop, err := s.startRegistry(ctx)
		path := "/" + namespace + "/" + typ + ":"
		text := fmt.Sprintf("set -e; for v in %s; do %s %s$v %s$v; done", strings.Join(versions, " "), copyCommand, s.host+path, host+path)
		return task{
			command: command{args: []string{s.shell, "-c", text}, dir: dir, environ: s.environ(), stdout: filepath.Join(dir, "stdout")},
			right:   s.hasTags(host+"/v2/"+namespace+"/"+typ, len(versions)), done: stop,
		}, err
	}}
}

// copyWithin returns the work of copying many small releases within one registry.
func (s *site) copyWithin() work {
	target := func(dir string) string { return s.host + "/copies/" + strings.ToLower(filepath.Base(dir)) }
	from := s.host + "/" + namespace + "/" + singleType
	done := func(dir string) func(context.Context) error {
		return s.hasTags(strings.Replace(target(dir), "/", "/v2/", 1), manyVersions)
	}
	run := func(dir string, args ...string) command {
		return command{args: args, dir: dir, environ: s.environ(), stdout: filepath.Join(dir, "stdout")}
	}
	return work{
		name: "copy 200",
		ready: func(ctx context.Context) error {
			if err := s.offerTiny(ctx, singleType, manyVersions, 1); err != nil {
				return err
			}
			return s.fill(ctx, singleType, namespace+"/"+singleType)
		},
		doers: []doer{
			{"tofu-oci", func(_ context.Context, dir string) (task, error) {
				return task{command: s.ours(dir, "copy", namespace+"/"+singleType, "--all", "--from", from, "--to", target(dir)), right: done(dir)}, nil
			}},
			{"crane copy --all-tags", func(_ context.Context, dir string) (task, error) {
				return task{command: run(dir, s.crane, "copy", "--all-tags", from, target(dir)), right: done(dir)}, nil
			}},
			{"regsync once", func(_ context.Context, dir string) (task, error) {
				config := filepath.Join(dir, "regsync.yml")
				text := fmt.Sprintf("version: 1\nsync:\n  - source: %s\n    target: %s\n    type: repository\n", from, target(dir))
				c := run(dir, s.regsync, "once", "--abort-on-error", "-c", config)
				return task{command: c, right: done(dir)}, os.WriteFile(config, []byte(text), 0o600)
			}},
		},
		rows: []row{{
			fmt.Sprintf("`copy` of %d small releases within one registry", manyVersions), "tofu-oci",
			[]string{"crane copy --all-tags", "regsync once"}, 1,
		}},
		memoryOnly: true,
	}
}

// hasTags returns a check that a repository, "HOST/v2/NAME", has n tags of versions.
func (s *site) hasTags(repository string, n int) func(context.Context) error {
	return func(ctx context.Context) error {
		var list struct{ Tags []string }
		if err := s.get(ctx, repository+"/tags/list?n=1000", &list); err != nil {
			return err
		}
		if len(list.Tags) != n {
			return fmt.Errorf("%s has %d tags, want %d", repository, len(list.Tags), n)
		}
		return nil
	}
}
