//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const lockTheirs = "tofu providers lock"

// lock returns the work of locking one release for ten platforms.
func (s *site) lock() work {
	return work{
		name: "lock",
		ready: func(ctx context.Context) error {
			if err := s.offer(ctx, tenType, true, map[string]map[provider.Platform]origintest.Archive{bigVersion: archives(s.ten)}); err != nil {
				return err
			}
			return s.fill(ctx, tenType, namespace+"/"+tenType)
		},
		doers:      []doer{s.lockOurs(), s.lockTofu()},
		rows:       []row{{fmt.Sprintf("`lock` of %d platforms of 7 MB each", tenPlatforms), "tofu-oci", []string{lockTheirs}, 0.05}},
		memoryOnly: true,
		fewer:      100,
	}
}

func (s *site) lockOurs() doer {
	return doer{"tofu-oci", func(ctx context.Context, dir string) (task, error) {
		over := &link{to: s.host, near: true}
		host, done, err := over.start(ctx)
		return task{
			command: s.ours(dir, "lock", "--from", host+"/{namespace}/{type}"),
			right:   s.isLocked(dir), done: done, over: over,
		}, errors.Join(err, require(dir, tenType))
	}}
}

func (s *site) lockTofu() doer {
	return doer{lockTheirs, func(ctx context.Context, dir string) (task, error) {
		over := &link{to: s.originHost, near: true}
		host, done, err := over.start(ctx)
		config := filepath.Join(dir, "tofurc")
		args := []string{s.tofu, "providers", "lock", "-no-color"}
		for p := range s.ten {
			args = append(args, "-platform="+p.String())
		}
		return task{
			command: command{args: args, dir: dir, environ: s.environ("TF_CLI_CONFIG_FILE=" + config), stdout: filepath.Join(dir, "stdout")},
			right:   s.isLocked(dir), done: done, over: over,
		}, errors.Join(err, require(dir, tenType), os.WriteFile(config, []byte(fixture.CLIConfig("https://"+host)), 0o600))
	}}
}

// isLocked returns a check that the lock file contains both hashes for each platform.
func (s *site) isLocked(dir string) func(context.Context) error {
	return func(context.Context) error {
		f, err := lockfile.Read(filepath.Join(dir, ".terraform.lock.hcl"))
		if err != nil {
			return err
		}
		for _, selection := range f.Selections() {
			if len(selection.Hashes) == 2*tenPlatforms {
				return nil
			}
		}
		return fmt.Errorf("the lock file does not have %d hashes: %s", 2*tenPlatforms, f.Bytes())
	}
}

// require writes a configuration that requires providers. It includes the host in each
// address, so that every client requires the same providers.
func require(dir string, types ...string) error {
	var required strings.Builder
	for _, typ := range types {
		_, _ = fmt.Fprintf(&required, "    %[1]s = { source = \"%[2]s/%[3]s/%[1]s\", version = %[4]q }\n", typ, provider.DefaultHost, namespace, bigVersion)
	}
	return os.WriteFile(filepath.Join(dir, "main.tf"), []byte("terraform {\n  required_providers {\n"+required.String()+"  }\n}\n"), 0o600)
}
