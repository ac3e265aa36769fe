//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// unpack returns the work of downloading and unpacking n large packages.
func (s *site) unpack(n int) work {
	r := row{"`pull --layout unpacked` of a 300 MB zip (740 MB unpacked)", "tofu-oci", []string{"tofu init"}, 0.65}
	if n > 1 {
		r.work, r.wanted = fmt.Sprintf("the same, %d different zips", n), 0.65
	}
	return work{
		name:  fmt.Sprintf("unpack %d", n),
		ready: func(ctx context.Context) error { return s.bigPackages(ctx, n) },
		doers: []doer{s.unpackOurs(n), s.unpackTofu(n)},
		rows:  []row{r},
	}
}

func (s *site) unpackOurs(n int) doer {
	return doer{"tofu-oci", func(_ context.Context, dir string) (task, error) {
		args := []string{"pull"}
		for i := range n {
			args = append(args, namespace+"/"+bigType(i))
		}
		args = append(args, "--layout", "unpacked", "--from", s.host+"/{namespace}/{type}", "--dir", ".")
		return task{command: s.ours(dir, args...), right: s.isUnpacked(dir, n)}, nil
	}}
}

func (s *site) unpackTofu(n int) doer {
	return doer{"tofu init", func(_ context.Context, dir string) (task, error) {
		var required strings.Builder
		for i := range n {
			_, _ = fmt.Fprintf(&required, "    %[1]s = { source = \"%[2]s/%[1]s\", version = %[3]q }\n", bigType(i), namespace, bigVersion)
		}
		installation := filepath.Join(dir, "tofurc")
		err := errors.Join(
			os.WriteFile(filepath.Join(dir, "main.tf"), []byte("terraform {\n  required_providers {\n"+required.String()+"  }\n}\n"), 0o600),
			os.WriteFile(installation, []byte(fmt.Sprintf(`provider_installation {
  oci_mirror {
    repository_template = "%s/${namespace}/${type}"
    include             = ["%s/%s/*"]
  }
}
`, s.host, provider.DefaultHost, namespace)), 0o600))
		return task{
			command: command{
				args: []string{s.tofu, "init", "-input=false", "-no-color"}, dir: dir,
				environ: s.environ("TF_CLI_CONFIG_FILE=" + installation), stdout: filepath.Join(dir, "stdout"),
			},
			right: s.isUnpacked(filepath.Join(dir, ".terraform", "providers"), n),
		}, err
	}}
}

// isUnpacked returns a check for the executables below a directory in which OpenTofu
// finds unpacked providers.
func (s *site) isUnpacked(dir string, n int) func(context.Context) error {
	return func(ctx context.Context) error {
		for i := range n {
			program := filepath.Join(dir, provider.DefaultHost.String(), namespace, bigType(i), bigVersion, s.here.String(),
				"terraform-provider-"+bigType(i)+"_v"+bigVersion)
			if err := hasDigest(program, s.big[i].program)(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}
