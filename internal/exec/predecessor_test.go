package exec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/exec"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// TestPredecessor checks that OpenTofu gets its own build of the version that Terraform
// locked, regardless of the locked hashes. Terraform, and programs that could run it,
// get the locked provider.
func TestPredecessor(t *testing.T) {
	t.Parallel()
	const successor, predecessor = "registry.opentofu.org/hashicorp/one", "registry.terraform.io/hashicorp/one"
	const packed = "/terraform-provider-one_1.0.0_haiku_riscv64.zip"
	zh := func(h hashes) string { return h.zh }
	wrong := func(hashes) string { return other.zh }
	for name, test := range map[string]struct {
		program, source string
		// hash is the locked hash of the predecessor.
		hash func(hashes) string
		// more, if not nil, is the hash of the successor in another lock file.
		more func(hashes) string
		// want is the package in the mirror. If it is empty, the hash is refused.
		want string
		left []string
	}{
		"tofu":                              {"tofu", "hashicorp/one", wrong, nil, successor + packed, []string{predecessor}},
		"tofu, explicit host":               {"tofu", predecessor, zh, nil, predecessor + packed, nil},
		"tofu, explicit host, another hash": {"tofu", predecessor, wrong, nil, "", nil},
		"terraform":                         {"terraform", "hashicorp/one", zh, nil, predecessor + packed, nil},
		"terragrunt":                        {"terragrunt", "hashicorp/one", zh, nil, predecessor + packed, []string{successor}},
		"both locked":                       {"tofu", "hashicorp/one", wrong, func(h hashes) string { return h.h1 }, successor + packed, []string{predecessor}},
		"both locked, another hash":         {"tofu", "hashicorp/one", zh, wrong, "", []string{predecessor}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.offer(t, "hashicorp/one 1.0.0")
			w.offer(t, "hashicorp/one 2.0.0")
			one := w.hashes["hashicorp/one 1.0.0"]
			lock := func(dir, address, hash string) string {
				path := filepath.Join(dir, here)
				must(t, os.WriteFile(path, fmt.Appendf(nil, "provider %q {\n  version = \"1.0.0\"\n  hashes  = [%q]\n}\n", address, hash), 0o600))
				return path
			}
			path := lock(w.dir, predecessor, test.hash(one))
			must(t, os.WriteFile(filepath.Join(w.dir, "main.tf"), fmt.Appendf(nil, "terraform {\n required_providers {\n one = { source = %q }\n}\n}\n", test.source), 0o600))
			var left []string
			r := w.run(t, test.program, "show", func(o *exec.Options) {
				o.Left = func(a provider.Address, _ string) { left = append(left, a.String()) }
				if test.more != nil {
					o.LockFiles = []string{path, lock(t.TempDir(), successor, test.more(one))}
				}
			})
			if diff := cmp.Diff(test.left, left); diff != "" {
				t.Error(diff)
			}
			if test.want == "" {
				if !isHashError(r.err) {
					t.Errorf("error %v", r.err)
				}
				return
			}
			_, mirror := r.configured(t)
			if got := holds(t, mirror); len(got) != 1 || got[test.want] == "" {
				t.Errorf("the mirror contains %v", got)
			}
		})
	}
}

// TestUnlockedFromAnotherSource checks that a package whose hash is not locked comes from
// the source of the run, even if the store contains the package of another source.
func TestUnlockedFromAnotherSource(t *testing.T) {
	t.Parallel()
	cache := ""
	for _, note := range []string{"", " of another source"} {
		w := newWorld(t)
		if w.note = note; cache != "" {
			w.cache = cache
		}
		cache = w.cache
		w.offer(t, "hashicorp/one 1.0.0")
		must(t, os.WriteFile(filepath.Join(w.dir, here), fmt.Appendf(nil, "provider \"registry.terraform.io/hashicorp/one\" {\n  version = \"1.0.0\"\n  hashes  = [%q]\n}\n", other.zh), 0o600))
		must(t, os.WriteFile(filepath.Join(w.dir, "main.tf"), []byte("terraform {\n required_providers {\n one = { source = \"hashicorp/one\" }\n}\n}\n"), 0o600))
		_, mirror := w.run(t, "tofu", "show").configured(t)
		data, err := os.ReadFile(filepath.Join(mirror, "registry.opentofu.org", "hashicorp", "one", "terraform-provider-one_1.0.0_haiku_riscv64.zip"))
		must(t, err)
		if got, want := sums.ZH(digest.FromBytes(data)), w.hashes["hashicorp/one 1.0.0"].zh; got != want {
			t.Errorf("the mirror contains %s, want %s", got, want)
		}
	}
}
