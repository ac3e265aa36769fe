package launch_test

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/launch"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
)

// packaged returns a source with one package, and the package's description. The
// package is for the current platform and contains the test program under the given
// name.
func packaged(t *testing.T, typ, executable string) (provider.Source, provider.Package) {
	t.Helper()
	a, err := provider.ParseAddress("registry.example/acme/" + typ)
	if err != nil {
		t.Fatal(err)
	}
	v, err := provider.ParseVersion("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program, err := os.Open(as(t, executable))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	file, err := os.Create(filepath.Join(dir, provider.Filename(a, v, provider.CurrentPlatform())))
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	header := &zip.FileHeader{Name: filepath.Base(program.Name()), Method: zip.Deflate}
	header.SetMode(0o755)
	entry, err := archive.CreateHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(entry, program); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(archive.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	src, err := builddir.New(a, dir)
	if err != nil {
		t.Fatal(err)
	}
	release, err := src.Release(t.Context(), a, v)
	if err != nil {
		t.Fatal(err)
	}
	return src, release.Packages[0]
}

func TestPackage(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	src, pkg := packaged(t, "six", "terraform-provider-six_v1.2.3")
	report, err := launch.Package(t.Context(), src, pkg, options(t))
	if err != nil || report.Protocol != 6 || report.Resources != 4 {
		t.Errorf("report %v, %v", report, err)
	}

	pkg.Platform = provider.Platform{OS: "plan9", Arch: "riscv64"}
	_, err = launch.Package(t.Context(), src, pkg, launch.Options{TempDir: place(t)})
	if other, ok := errors.AsType[*provider.PlatformError](err); !ok || other.Wanted != provider.CurrentPlatform() {
		t.Errorf("a package for another machine: %v", err)
	}
}

func TestPackageWithoutExecutable(t *testing.T) {
	t.Parallel()
	src, pkg := packaged(t, "seven", "terraform-provider-six_v1.2.3")
	_, err := launch.Package(t.Context(), src, pkg, launch.Options{TempDir: place(t)})
	if problem, ok := errors.AsType[*launch.Error](err); !ok || problem.Fault != launch.NotStarted {
		t.Errorf("error %v, want %q", err, launch.NotStarted)
	}
}
