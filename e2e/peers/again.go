//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Numbers of releases and platforms of the provider with many releases.
const (
	manyType      = "many"
	manyVersions  = 200
	manyPlatforms = 10
	copied        = "copy/" + manyType
)

// again returns the work of mirroring many releases that the repository already
// contains.
func (s *site) again() work {
	return work{
		name: "again",
		ready: func(ctx context.Context) error {
			if err := s.manyReleases(ctx); err != nil {
				return err
			}
			return s.fill(ctx, manyType, copied)
		},
		doers: []doer{s.againOurs("blobs"), s.againOurs("index"), s.regsyncOnce()},
		rows: []row{
			{fmt.Sprintf("%d versions × %d platforms, all mirrored, `--check-level=blobs`", manyVersions, manyPlatforms), "--check-level=blobs", []string{"regsync once"}, 0},
			{"the same, `--check-level=index`", "--check-level=index", []string{"regsync once"}, 0},
		},
	}
}

func (s *site) againOurs(level string) doer {
	flag := "--check-level=" + level
	return doer{flag, func(_ context.Context, dir string) (task, error) {
		c := s.ours(dir, "mirror", namespace+"/"+manyType, "--all", "--to", s.host+"/{namespace}/{type}", flag, "--output", "json")
		return task{command: c, right: func(context.Context) error { return allUnchanged(c.stdout) }}, nil
	}}
}

// allUnchanged checks that the output of mirror reports all releases as unchanged.
func allUnchanged(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var printed struct{ Items []struct{ Status string } }
	if err := json.Unmarshal(text, &printed); err != nil {
		return err
	}
	unchanged := 0
	for _, r := range printed.Items {
		if r.Status == "unchanged" {
			unchanged++
		}
	}
	if unchanged != manyVersions || len(printed.Items) != manyVersions {
		return fmt.Errorf("%d of %d releases are unchanged, want %d", unchanged, len(printed.Items), manyVersions)
	}
	return nil
}

// regsyncOnce returns a doer in which regsync compares the repository with a copy in
// the same registry.
func (s *site) regsyncOnce() doer {
	return doer{"regsync once", func(_ context.Context, dir string) (task, error) {
		config := filepath.Join(dir, "regsync.yml")
		text := fmt.Sprintf("version: 1\nsync:\n  - source: %[1]s/%[2]s\n    target: %[1]s/%[3]s/%[4]s\n    type: repository\n", s.host, copied, namespace, manyType)
		c := command{
			args: []string{s.regsync, "once", "--abort-on-error", "-c", config}, dir: dir, environ: s.environ(), stdout: filepath.Join(dir, "stdout"),
		}
		return task{command: c, right: s.hasSameTags(copied, namespace+"/"+manyType)}, os.WriteFile(config, []byte(text), 0o600)
	}}
}

// offerTiny adds releases with 1 kB zips to the origin registry.
func (s *site) offerTiny(ctx context.Context, typ string, versions, platforms int) error {
	releases := map[string]map[provider.Platform]origintest.Archive{}
	for i := range versions {
		version := fmt.Sprintf("1.%d.0", i)
		if versions == 1 {
			version = bigVersion
		}
		releases[version] = map[provider.Platform]origintest.Archive{}
		for j := range platforms {
			p := provider.Platform{OS: "plan9", Arch: fmt.Sprintf("arch%d", j)}
			content, err := tinyZip(typ, version+" "+p.String())
			if err != nil {
				return err
			}
			releases[version][p] = origintest.Archive{Bytes: content}
		}
	}
	return s.offer(ctx, typ, true, releases)
}

func tinyZip(typ, text string) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	entry, err := w.CreateHeader(&zip.FileHeader{Name: "terraform-provider-" + typ, Method: zip.Store})
	if err == nil {
		_, err = fmt.Fprintf(entry, "%-850s", text)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}
