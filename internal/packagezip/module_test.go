package packagezip_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestHostileModules checks that the package of a module is unpacked by the same rules
// as the package of a provider, and that no files of a rejected package remain.
func TestHostileModules(t *testing.T) {
	t.Parallel()
	s := suite{}
	s.add(both, "ordinary", plain())
	addLies(s)
	addHostileNames(s)
	addHostileForms(s)
	addHostileLayouts(s)
	addHostileEnds(s)
	for name, test := range s {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := test.forge.zip()
			parent := t.TempDir()
			err := pullModule(t, data, filepath.Join(parent, "module"))
			left, problem := os.ReadDir(parent)
			if problem != nil {
				t.Fatal(problem)
			}
			if accepted := test.want == both || test.want == randomOnly; accepted {
				if err != nil || len(left) != 1 {
					t.Errorf("got %v, left %v", err, left)
				}
			} else if !errors.Is(err, packagezip.ErrArchive) || len(left) != 0 {
				t.Errorf("got %v, left %v", err, left)
			}
		})
	}
}

// pullModule stores a zip as a module in an image layout and pulls the module to dir.
func pullModule(t *testing.T, data []byte, dir string) (err error) {
	t.Helper()
	v, err := provider.ParseVersion("1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	zip := provider.Package{Filename: "x.zip", Version: v, Digest: digest.FromBytes(data), Size: int64(len(data))}
	packed, err := artifact.Pack(provider.Release{Address: provider.ModuleAddress("oci://ghcr.io/acme/x"), Version: v, Packages: []provider.Package{zip}}, artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	repo := repository.NewLayout(path)
	if err := repo.PushBlob(t.Context(), artifact.ZipDescriptor(zip), bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := repository.Push(t.Context(), repo, packed, repository.Inspection{Tag: "1.0.0"}, repository.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	ref, err := module.ParseReference("oci-layout:" + filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	src, wanted, err := module.Source(t.Context(), repo, ref)
	if err != nil {
		t.Fatal(err)
	}
	failed := module.Pull(t.Context(), src, wanted, dir, pull.ManyOptions{OnResult: func(p pull.Pulled) { err = p.Err }})
	return errors.Join(failed, err)
}
