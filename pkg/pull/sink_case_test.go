package pull_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// sinkCase is a sink for the test suite of the Sink contract.
type sinkCase struct {
	layout pull.Layout
	// cache is the directory of the sink's store. If empty, the sink has no store.
	cache string
	// files maps the paths of the files that Put creates to their contents.
	files map[string]string
	// place is the path that Put returns.
	place string
	// p is a package. zip is the package's content.
	p   provider.Package
	zip []byte
}

const (
	sinkZipName = "terraform-provider-x_1.2.0_plan9_riscv64.zip"
	sinkParent  = "registry.example/acme/x/"
	sinkTree    = sinkParent + "1.2.0/plan9_riscv64"
)

func sinkCases(t *testing.T) map[string]sinkCase {
	t.Helper()
	entries := []string{"terraform-provider-x_v1.2.0", "docs/index.md"}
	data, withDirectories := sinkZip(t, "one", entries...), sinkZip(t, "one", append([]string{"docs/"}, entries...)...)
	tree := map[string]string{}
	for _, name := range entries {
		tree[sinkTree+"/"+name] = "one " + name
	}
	zipped := func(path string) map[string]string { return map[string]string{path: string(data)} }
	unknown := sinkPackage(t, data)
	unknown.H1 = ""
	renamed := sinkPackage(t, data)
	renamed.Filename, renamed.ListedAs = "x-plan9.zip", "../Makefile"
	network := func(data []byte) map[string]string {
		p := sinkPackage(t, data)
		contents, err := packagezip.HashStream(t.Context(), bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		hashes := append(contents.H1Hashes(), sums.ZH(p.Digest))
		slices.Sort(hashes)
		return map[string]string{
			sinkParent + sinkZipName:  string(data),
			sinkParent + "index.json": "{\n  \"versions\": {\n    \"1.2.0\": {}\n  }\n}",
			sinkParent + "1.2.0.json": fmt.Sprintf("{\n  \"archives\": {\n    \"plan9_riscv64\": {\n      \"hashes\": [\n        %s\n      ],\n      \"url\": %q\n    }\n  }\n}",
				`"`+strings.Join(hashes, "\",\n        \"")+`"`, sinkZipName),
		}
	}
	return map[string]sinkCase{
		"network":                              {layout: pull.LayoutNetwork, files: network(data), place: sinkParent + sinkZipName, p: sinkPackage(t, data), zip: data},
		"network, unconventional name":         {layout: pull.LayoutNetwork, files: network(data), place: sinkParent + sinkZipName, p: renamed, zip: data},
		"network, h1 unknown":                  {layout: pull.LayoutNetwork, files: network(data), place: sinkParent + sinkZipName, p: unknown, zip: data},
		"network, cached":                      {layout: pull.LayoutNetwork, cache: t.TempDir(), files: network(data), place: sinkParent + sinkZipName, p: sinkPackage(t, data), zip: data},
		"network, zip with directory entries":  {layout: pull.LayoutNetwork, files: network(withDirectories), place: sinkParent + sinkZipName, p: sinkPackage(t, withDirectories), zip: withDirectories},
		"zip":                                  {layout: pull.LayoutZip, files: zipped(sinkZipName), place: sinkZipName, p: sinkPackage(t, data), zip: data},
		"zip, unconventional name":             {layout: pull.LayoutZip, files: zipped(sinkZipName), place: sinkZipName, p: renamed, zip: data},
		"packed":                               {layout: pull.LayoutPacked, files: zipped(sinkParent + sinkZipName), place: sinkParent + sinkZipName, p: sinkPackage(t, data), zip: data},
		"packed, unconventional name":          {layout: pull.LayoutPacked, files: zipped(sinkParent + sinkZipName), place: sinkParent + sinkZipName, p: renamed, zip: data},
		"unpacked":                             {layout: pull.LayoutUnpacked, files: tree, place: sinkTree, p: sinkPackage(t, data), zip: data},
		"unpacked, h1 unknown":                 {layout: pull.LayoutUnpacked, files: tree, place: sinkTree, p: unknown, zip: data},
		"zip, cached":                          {layout: pull.LayoutZip, cache: t.TempDir(), files: zipped(sinkZipName), place: sinkZipName, p: sinkPackage(t, data), zip: data},
		"unpacked, cached":                     {layout: pull.LayoutUnpacked, cache: t.TempDir(), files: tree, place: sinkTree, p: sinkPackage(t, data), zip: data},
		"unpacked, zip with directory entries": {layout: pull.LayoutUnpacked, files: tree, place: sinkTree, p: sinkPackage(t, withDirectories), zip: withDirectories},
	}
}

// sinkZip creates a zip with entries whose contents start with word.
func sinkZip(t *testing.T, word string, names ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, name := range names {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "/") {
			if _, err := io.WriteString(f, word+" "+name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// sinkPackage returns the package of a zip, for a platform on which no tests run.
func sinkPackage(t *testing.T, data []byte) provider.Package {
	t.Helper()
	address, err := provider.ParseAddress("registry.example/acme/x")
	if err != nil {
		t.Fatal(err)
	}
	version, err := provider.ParseVersion("1.2.0")
	if err != nil {
		t.Fatal(err)
	}
	h1, err := origintest.H1(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	platform := provider.Platform{OS: "plan9", Arch: "riscv64"}
	return provider.Package{
		Address: address, Version: version, Platform: platform, Filename: sinkZipName,
		Digest: digest.FromBytes(data), Size: int64(len(data)), H1: h1,
	}
}

// sinkFiles returns the content of every file below dir, including temporary files.
func sinkFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == dir {
			return nil
		}
		if err != nil || d.IsDir() && !strings.HasSuffix(path, ".tmp") {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if !d.Type().IsRegular() {
			out[rel] = d.Type().String()
			return nil
		}
		data, err := os.ReadFile(path)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func checkSinkFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := sinkFiles(t, dir)
	// Skip lock files and the record of unpacked zips.
	maps.DeleteFunc(got, func(name, _ string) bool { return name == ".tofu-oci.lock" || path.Base(name) == ".tofu-oci.unpacked" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func sinkAt(t *testing.T, c sinkCase, dir string) pull.Sink {
	t.Helper()
	var cache *store.Store
	if c.cache != "" {
		var err error
		if cache, err = store.Open(c.cache, store.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := pull.NewSink(c.layout, dir, cache)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eachSink runs a test with every sink, in a directory that doesn't exist yet.
func eachSink(t *testing.T, test func(t *testing.T, c sinkCase, dir string)) {
	t.Helper()
	for name, c := range sinkCases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, c, filepath.Join(t.TempDir(), "made", "by the sink"))
		})
	}
}

func checkPut(t *testing.T, s pull.Sink, c sinkCase, dir string, wantKept bool) {
	t.Helper()
	path, kept, err := s.Put(t.Context(), c.p, opening(bytes.NewReader(c.zip)))
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, filepath.FromSlash(c.place)); path != want {
		t.Errorf("Put returned path %s, want %s", path, want)
	}
	if kept != wantKept {
		t.Errorf("Put returned kept %v, want %v", kept, wantKept)
	}
}
