package filesystem_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/filesystem"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/sourcetest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Parsed values, and platforms on which these tests never run.
var (
	haiku, plan9            = nouns.Haiku, nouns.Plan9
	address, version, zipOf = nouns.Address, nouns.Version, nouns.Zip
)

const thing = "registry.example.org/acme/thing"

// mirrorDir creates a filesystem mirror with files by path.
func mirrorDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, content := range files {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFilesystemIsASource(t *testing.T) {
	t.Parallel()
	zips := map[provider.Platform][]byte{haiku: zipOf(t, "haiku"), plan9: zipOf(t, "plan9")}
	dir := mirrorDir(t, map[string]string{
		thing + "/terraform-provider-thing_1.2.3_haiku_riscv64.zip": string(zips[haiku]),
		thing + "/terraform-provider-thing_1.2.3_plan9_mips.zip":    string(zips[plan9]),
		thing + "/terraform-provider-thing_1.0.0_plan9_mips.zip":    "old",
		thing + "/1.1.0-rc1/plan9_mips/terraform-provider-thing":    "unpacked",
		// This package exists in both forms.
		thing + "/1.2.3/plan9_mips/terraform-provider-thing": "unpacked",
	})
	sourcetest.Run(t, sourcetest.Fixture{
		New:      func(*testing.T) provider.Source { return filesystem.New(dir) },
		Address:  address(t, thing),
		Versions: []provider.Version{version(t, "1.2.3"), version(t, "1.1.0-rc1"), version(t, "1.0.0")},
		Zips:     zips,
	})
}

func TestFilesystemNames(t *testing.T) {
	t.Parallel()
	a := address(t, "bücher.example/acme/thing")
	const dir = "bücher.example/acme/thing/"
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"packed":                     {dir + "terraform-provider-thing_1.2.3_haiku_riscv64.zip", []string{"1.2.3 haiku_riscv64"}},
		"packed, in other case":      {"BÜCHER.example/Acme/THING/Terraform-Provider-Thing_1.2.3_Haiku_RISCV64.ZIP", []string{"1.2.3 haiku_riscv64"}},
		"packed, with words behind":  {dir + "terraform-provider-thing_1.2.3_haiku_riscv64_x5.zip", []string{"1.2.3 haiku_riscv64"}},
		"packed, a short version":    {dir + "terraform-provider-thing_1.2_haiku_riscv64.zip", []string{"1.2.0 haiku_riscv64"}},
		"packed, build metadata":     {dir + "terraform-provider-thing_1.2.3+x_haiku_riscv64.zip", []string{"1.2.3+x haiku_riscv64"}},
		"packed, no platform":        {dir + "terraform-provider-thing_1.2.3.zip", nil},
		"packed, a v":                {dir + "terraform-provider-thing_v1.2.3_haiku_riscv64.zip", nil},
		"packed, another type":       {dir + "terraform-provider-other_1.2.3_haiku_riscv64.zip", nil},
		"packed, no zip":             {dir + "terraform-provider-thing_1.2.3_haiku_riscv64.tgz", nil},
		"packed, a platform of dots": {dir + "terraform-provider-thing_1.2.3_ha.iku_riscv64.zip", nil},
		"packed, too deep":           {dir + "1.2.3/terraform-provider-thing_1.2.3_haiku_riscv64.zip", nil},
		"unpacked":                   {dir + "1.2.3/haiku_riscv64/x", []string{"1.2.3 haiku_riscv64"}},
		"unpacked, in other case":    {"bücher.example/ACME/thing/1.2.3-RC1/haiku_riscv64/x", []string{"1.2.3-RC1 haiku_riscv64"}},
		"unpacked, a v":              {dir + "v1.2.3/haiku_riscv64/x", nil},
		"unpacked, no platform":      {dir + "1.2.3/bin/x", nil},
		"unpacked, a file":           {dir + "1.2.3/haiku_riscv64", nil},
		"another host":               {"bucher.example/acme/thing/1.2.3/haiku_riscv64/x", nil},
		"another namespace":          {"bücher.example/other/thing/1.2.3/haiku_riscv64/x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := filesystem.New(mirrorDir(t, map[string]string{test.file: "x"}))
			versions, err := s.Versions(t.Context(), a)
			if test.want == nil {
				if !errors.Is(err, provider.ErrProviderNotFound) {
					t.Errorf("got %v, %v", versions, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range versions {
				r, err := s.Release(t.Context(), a, v)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range r.Packages {
					got = append(got, v.String()+" "+p.Platform.String())
					if want := provider.Filename(a, v, p.Platform); p.Filename != want {
						t.Errorf("the file name is %s, want %s", p.Filename, want)
					}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("wrong packages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilesystemUnpacked(t *testing.T) {
	t.Parallel()
	dir := mirrorDir(t, map[string]string{
		thing + "/1.2.3/haiku_riscv64/terraform-provider-thing": "program",
		thing + "/1.2.3/haiku_riscv64/doc/README":               "text",
	})
	s := filesystem.New(dir)
	r, err := s.Release(t.Context(), address(t, thing), version(t, "1.2.3"), haiku)
	if err != nil {
		t.Fatal(err)
	}
	p := r.Packages[0]
	path := filepath.Join(dir, filepath.FromSlash(thing), "1.2.3", "haiku_riscv64")
	want, err := sums.H1Dir(path)
	if err != nil {
		t.Fatal(err)
	}
	if p.H1 != want || p.Digest != "" || p.Size != -1 {
		t.Errorf("h1 %s, digest %q, size %d; want h1 %s", p.H1, p.Digest, p.Size, want)
	}
	if got, ok := s.Capabilities().Directory(p); !ok || got != resolved(t, path) {
		t.Errorf("the directory is %s, %v", got, ok)
	}
	_, _, err = s.Open(t.Context(), p)
	if !errors.Is(err, filesystem.ErrUnpacked) || !strings.Contains(err.Error(), haiku.String()) {
		t.Errorf("opening it: got %v", err)
	}
}

func resolved(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesystemDirectoryOnlyUnpacked(t *testing.T) {
	t.Parallel()
	s := filesystem.New(mirrorDir(t, map[string]string{thing + "/terraform-provider-thing_1.2.3_haiku_riscv64.zip": "zip"}))
	r, err := s.Release(t.Context(), address(t, thing), version(t, "1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []provider.Package{r.Packages[0], {}} {
		if path, ok := s.Capabilities().Directory(p); ok {
			t.Errorf("%v is the directory %s", p, path)
		}
	}
}

func TestFilesystemFollowsOpenTofusLinks(t *testing.T) {
	t.Parallel()
	dir := mirrorDir(t, map[string]string{
		"real/" + thing + "/1.2.3/haiku_riscv64/terraform-provider-thing": "program",
		"elsewhere/plan9/terraform-provider-thing":                        "program",
		"elsewhere/other.zip":                                             "zip",
	})
	link := func(to, from string) {
		t.Helper()
		if err := os.Symlink(filepath.Join(dir, filepath.FromSlash(to)), filepath.Join(dir, filepath.FromSlash(from))); err != nil {
			t.Fatal(err)
		}
	}
	link("real", "base")
	link("elsewhere/plan9", "real/"+thing+"/1.2.3/plan9_mips")
	link("elsewhere/other.zip", "real/"+thing+"/terraform-provider-thing_2.0.0_haiku_riscv64.zip")
	link("real/"+thing+"/1.2.3", "real/"+thing+"/3.0.0")
	link("nothing", "real/"+thing+"/terraform-provider-thing_4.0.0_haiku_riscv64.zip")
	s := filesystem.New(filepath.Join(dir, "base"))
	versions, err := s.Versions(t.Context(), address(t, thing))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]provider.Version{version(t, "2.0.0"), version(t, "1.2.3")}, versions, cmp.Comparer(func(a, b provider.Version) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	r, err := s.Release(t.Context(), address(t, thing), version(t, "1.2.3"))
	if err != nil || len(r.Packages) != 2 {
		t.Errorf("got %v, %v", r.Packages, err)
	}
	// This link in a package points to a file outside the package.
	link("elsewhere/other.zip", "elsewhere/plan9/link")
	_, err = filesystem.New(filepath.Join(dir, "base")).Release(t.Context(), address(t, thing), version(t, "1.2.3"), plan9)
	if err == nil || !strings.Contains(err.Error(), "is neither a file nor a directory") {
		t.Errorf("a link in a package: got %v", err)
	}
}

func TestFilesystemFails(t *testing.T) {
	t.Parallel()
	a, v := address(t, thing), version(t, "1.2.3")
	if _, err := filesystem.New(filepath.Join(t.TempDir(), "none")).Versions(t.Context(), a); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, provider.ErrProviderNotFound) {
		t.Errorf("a directory that is not there: got %v", err)
	}
	dir := mirrorDir(t, map[string]string{thing + "/1.2.3/haiku_riscv64/doc/x": "x"})
	if err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(thing), "1.2.3", "haiku_riscv64", "doc")); err != nil {
		t.Fatal(err)
	}
	if _, err := filesystem.New(dir).Release(t.Context(), a, v); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("an empty package: got %v", err)
	}
}

func TestFilesystemDetectsChanges(t *testing.T) {
	t.Parallel()
	const name = thing + "/terraform-provider-thing_1.2.3_haiku_riscv64.zip"
	for what, test := range map[string]struct {
		content string
		want    func(error) bool
	}{
		"other bytes":  {"ABC", isMismatch},
		"another size": {"abcd", isSizeError},
		"gone":         {"", func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := mirrorDir(t, map[string]string{name: "abc"})
			s := filesystem.New(dir)
			r, err := s.Release(t.Context(), address(t, thing), version(t, "1.2.3"))
			if err != nil {
				t.Fatal(err)
			}
			if p := r.Packages[0]; p.Digest != digest.FromString("abc") || p.Size != 3 {
				t.Errorf("digest %s, size %d", p.Digest, p.Size)
			}
			path := filepath.Join(dir, filepath.FromSlash(name))
			if test.content == "" {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, []byte(test.content), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			body, _, err := s.Open(t.Context(), r.Packages[0])
			if err == nil {
				_, err = io.ReadAll(body)
				_ = body.Close()
			}
			if !test.want(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func isMismatch(err error) bool {
	var mismatch *sums.MismatchError
	return errors.As(err, &mismatch)
}

func isSizeError(err error) bool {
	var size *sums.SizeError
	return errors.As(err, &size)
}

func TestFilesystemUnpackedIsCanceled(t *testing.T) {
	t.Parallel()
	s := filesystem.New(mirrorDir(t, map[string]string{thing + "/1.2.3/haiku_riscv64/x": "x"}))
	if _, err := s.Versions(t.Context(), address(t, thing)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Release(ctx, address(t, thing), version(t, "1.2.3")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
