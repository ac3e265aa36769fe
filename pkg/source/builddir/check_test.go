package builddir_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// scriptZip returns a package whose executable is a script.
func scriptZip(t *testing.T, name string, mode fs.FileMode) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: name, Method: zip.Store}
	header.SetMode(mode)
	f, err := w.CreateHeader(header)
	if err == nil {
		_, err = f.Write([]byte("#!/bin/sh\n"))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const stem100 = "terraform-provider-widget_1.0.0"

func checkDir(t *testing.T, files map[string][]byte, only ...provider.Platform) (dir string, warnings []string, err error) {
	t.Helper()
	dir = dirWith(t, files)
	s, err := builddir.New(acme, dir)
	if err != nil {
		t.Fatal(err)
	}
	warnings, err = s.Check(t.Context(), acme, version(t, "1.0.0"), only...)
	return dir, warnings, err
}

func TestDirCheck(t *testing.T) {
	t.Parallel()
	_, warnings, err := checkDir(t, map[string][]byte{
		stem100 + "_plan9_386.zip":             scriptZip(t, "terraform-provider-widget_v1.0.0", 0o755),
		stem100 + "_plan9_386.zip.sig":         []byte("s"),
		stem100 + "_plan9_386.zip.sbom.json":   []byte(`{"bomFormat":"CycloneDX"}`),
		stem100 + "_manifest.json":             []byte(`{}`),
		"terraform-provider-widget.spdx.json":  []byte(`{"spdxVersion":"SPDX-2.3"}`),
		"terraform-provider-widget_SHA256SUMS": []byte("of nothing"),
	})
	if err != nil || len(warnings) != 0 {
		t.Errorf("%q, %v", warnings, err)
	}
}

// TestDirCheckVersionOfExecutable checks that an executable whose name contains a
// different version is reported. The cause is often an executable from an earlier
// build.
func TestDirCheckVersionOfExecutable(t *testing.T) {
	t.Parallel()
	for name, warned := range map[string]bool{
		"terraform-provider-widget_v1.0.0": false, "terraform-provider-widget_v1.0.0_x5": false, "terraform-provider-widget": false,
		"terraform-provider-widget_other": false, "terraform-provider-widget_v1.0.3": true, "terraform-provider-widget_v0.9.0_x5.exe": true,
	} {
		_, warnings, err := checkDir(t, map[string][]byte{stem100 + "_plan9_386.zip": scriptZip(t, name, 0o755)})
		if err != nil || (len(warnings) == 1 && strings.Contains(warnings[0], name+`" has version `)) != warned {
			t.Errorf("%s: %q, %v", name, warnings, err)
		}
	}
}

// TestDirCheckFindsAll checks that all problems of all packages and other files are
// reported.
func TestDirCheckFindsAll(t *testing.T) {
	t.Parallel()
	good := scriptZip(t, "terraform-provider-widget", 0o755)
	files := map[string][]byte{
		stem100 + "_plan9_386.zip":            scriptZip(t, "terraform-provider-gadget", 0o755),
		stem100 + "_plan9_amd64.zip":          scriptZip(t, "terraform-provider-widget", 0o644),
		stem100 + "_plan9_arm.zip":            []byte("no zip"),
		stem100 + "_windows_386.zip":          good,
		stem100 + "_SHA256SUMS":               []byte(digest.FromString("x").Encoded() + "  " + stem100 + "_windows_386.zip\n"),
		stem100 + "_plan9_386.spdx.json":      []byte("{}"),
		"terraform-provider-widget.spdx.json": []byte("text"),
	}
	dir, warnings, err := checkDir(t, files)
	for _, want := range []string{
		filepath.Join(dir, stem100+"_plan9_386.zip") + ": no executable that OpenTofu would find",
		filepath.Join(dir, stem100+"_plan9_amd64.zip") + `: "terraform-provider-widget" is not executable (mode 0644)`,
		filepath.Join(dir, stem100+"_plan9_arm.zip") + ": ",
		stem100 + "_SHA256SUMS: checksum of " + stem100 + "_windows_386.zip is",
		stem100 + "_SHA256SUMS: SHA256SUMS does not list " + stem100 + "_plan9_amd64.zip",
		filepath.Join(dir, stem100+"_plan9_386.spdx.json") + " is neither an SPDX nor a CycloneDX document",
		filepath.Join(dir, "terraform-provider-widget.spdx.json") + " is not a JSON document",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	if !is[*builddir.PackageError](err) || !is[*sums.MismatchError](err) {
		t.Errorf("the errors lost their types: %v", err)
	}
	want := []string{filepath.Join(dir, stem100+"_windows_386.zip") + `: "terraform-provider-widget" does not end in .exe, which Windows requires for programs`}
	if len(warnings) == 0 || warnings[0] != want[0] {
		t.Errorf("warnings (-want +got):\n%s", cmp.Diff(want, warnings))
	}
	// Problems of other platforms are not reported.
	_, _, err = checkDir(t, map[string][]byte{
		stem100 + "_plan9_386.zip": []byte("no zip"), stem100 + "_plan9_arm.zip": good,
	}, provider.Platform{OS: "plan9", Arch: "arm"})
	if err != nil {
		t.Error(err)
	}
}

func TestDirCheckErrors(t *testing.T) {
	t.Parallel()
	s, err := builddir.New(acme, dirWith(t, map[string][]byte{stem100 + "_plan9_386.zip": scriptZip(t, "terraform-provider-widget", 0o755)}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Check(t.Context(), acme, version(t, "2.0.0"))
	if !errors.Is(err, provider.ErrVersionNotFound) {
		t.Errorf("got %v", err)
	}
	_, err = s.Check(t.Context(), acme, version(t, "1.0.0"), provider.Platform{OS: "zos", Arch: "s390x"})
	if !is[*provider.PlatformError](err) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = s.Check(ctx, acme, version(t, "1.0.0")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestDirOfSeveralDirectories covers the output of a build matrix's jobs. Files with
// the same name must be equal.
func TestDirOfSeveralDirectories(t *testing.T) {
	t.Parallel()
	one, two := packageZip(t, "1"), packageZip(t, "2")
	listed := []byte(digest.FromBytes(one).Encoded() + "  " + stem100 + "_plan9_386.zip\n" + digest.FromBytes(two).Encoded() + "  " + stem100 + "_plan9_arm.zip\n")
	both := func(second []byte) (a, b string, s *builddir.Source) {
		a = dirWith(t, map[string][]byte{stem100 + "_plan9_386.zip": one, stem100 + "_SHA256SUMS": listed})
		b = dirWith(t, map[string][]byte{stem100 + "_plan9_arm.zip": two, stem100 + "_SHA256SUMS": second})
		s, err := builddir.New(acme, a, b)
		if err != nil {
			t.Fatal(err)
		}
		return a, b, s
	}
	_, _, s := both(listed)
	r, err := s.Release(t.Context(), acme, version(t, "1.0.0"))
	if err != nil || len(r.Packages) != 2 || len(r.Documents) != 1 {
		t.Errorf("%d packages, %d documents, %v", len(r.Packages), len(r.Documents), err)
	}
	a, b, s := both(listed[:len(listed)/2])
	want := filepath.Join(a, stem100+"_SHA256SUMS") + " and " + filepath.Join(b, stem100+"_SHA256SUMS") + " differ, but only one of them can be published"
	if _, err := s.Release(t.Context(), acme, version(t, "1.0.0")); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// TestDirReadsCycloneDX covers the usual name of CycloneDX documents.
func TestDirReadsCycloneDX(t *testing.T) {
	t.Parallel()
	s, err := builddir.New(acme, dirWith(t, map[string][]byte{
		stem100 + "_plan9_386.zip": packageZip(t, "1"), stem100 + "_plan9_386.cdx.json": []byte(`{"bomFormat":"CycloneDX"}`),
	}))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Release(t.Context(), acme, version(t, "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{stem100 + "_plan9_386.cdx.json application/vnd.cyclonedx+json"}
	if diff := cmp.Diff(want, names(r.Packages[0].Documents)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
