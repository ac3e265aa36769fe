package builddir_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/sourcetest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
)

var version = nouns.Version

var acme = mustAddress("example.com/acme/widget")

func mustAddress(s string) provider.Address {
	a, err := provider.ParseAddress(s)
	if err != nil {
		panic(err)
	}
	return a
}

// packageZip returns a small package with the given text.
func packageZip(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create("terraform-provider-widget")
	if err == nil {
		_, err = io.WriteString(f, text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// dirWith creates a directory with files.
func dirWith(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func names(as []provider.Document) []string {
	var list []string
	for _, a := range as {
		list = append(list, a.Name+" "+a.MediaType)
	}
	return list
}

func TestDirReadsGoreleaserOutput(t *testing.T) {
	t.Parallel()
	linux, plan9 := packageZip(t, "linux"), packageZip(t, "plan9")
	const stem = "terraform-provider-widget_1.2.3"
	manifest := []byte(`{"version":1,"metadata":{"protocol_versions":["6.0","5.0"]}}`)
	listed := digest.FromBytes(linux).Encoded() + "  " + stem + "_linux_amd64.zip\n" +
		digest.FromBytes(plan9).Encoded() + "  " + stem + "_plan9_mips64.zip\n" +
		digest.FromBytes(manifest).Encoded() + "  " + stem + "_manifest.json\n"
	spdx := []byte(`{"spdxVersion":"SPDX-2.3"}`)
	bundle := []byte(`{"mediaType":"` + artifact.MediaTypeSigstore + `"}`)
	dir := dirWith(t, map[string][]byte{
		stem + "_linux_amd64.zip":                linux,
		stem + "_plan9_mips64.zip":               plan9,
		stem + "_linux_amd64.zip.sbom.json":      spdx,
		stem + "_linux_amd64.zip.sig":            []byte("signature"),
		stem + "_plan9_mips64.spdx.json":         spdx,
		stem + "_plan9_mips64.intoto.jsonl":      []byte("{}\n{}\n"),
		stem + "_SHA256SUMS":                     []byte(listed),
		stem + "_SHA256SUMS.sig":                 []byte("signature"),
		stem + "_SHA256SUMS.sigstore.json":       bundle,
		stem + "_plan9_mips64.zip.bundle":        bundle,
		stem + "_linux_amd64.zip.bundle":         []byte(`{"base64Signature":""}`),
		stem + ".sigstore.json":                  bundle,
		stem + "_manifest.json":                  manifest,
		stem + ".spdx.json":                      spdx,
		"terraform-provider-widget.intoto.jsonl": []byte("{}\n"),
		"artifacts.json":                         []byte("{}"),
		"CHANGELOG.md":                           nil,
	})
	s, err := builddir.New(acme, dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "CHANGELOG.md"), filepath.Join(dir, "artifacts.json")}, s.Ignored()); diff != "" {
		t.Errorf("ignored (-want +got):\n%s", diff)
	}
	v := version(t, "1.2.3")
	r, err := s.Release(t.Context(), acme, v)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"5.0", "6.0"}, r.Protocols); diff != "" {
		t.Errorf("protocols (-want +got):\n%s", diff)
	}
	about, err := s.Capabilities().Documents(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string][2][]string{
		"release": {names(r.Documents), {
			stem + "_SHA256SUMS " + artifact.MediaTypeSums, stem + "_SHA256SUMS.sig " + artifact.MediaTypeSignature,
			stem + "_SHA256SUMS.sigstore.json " + artifact.MediaTypeSigstore}},
		"linux": {names(r.Packages[0].Documents), {
			stem + "_linux_amd64.zip.sbom.json " + artifact.MediaTypeSPDX, stem + "_linux_amd64.zip.sig " + artifact.MediaTypeSignature}},
		"plan9": {names(r.Packages[1].Documents), {
			stem + "_plan9_mips64.intoto.jsonl " + artifact.MediaTypeInToto, stem + "_plan9_mips64.spdx.json " + artifact.MediaTypeSPDX,
			stem + "_plan9_mips64.zip.bundle " + artifact.MediaTypeSigstore}},
		"referrers": {names(about), {
			"terraform-provider-widget.intoto.jsonl " + artifact.MediaTypeInToto, stem + ".sigstore.json " + artifact.MediaTypeSigstore,
			stem + ".spdx.json " + artifact.MediaTypeSPDX}},
	} {
		if diff := cmp.Diff(got[1], got[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if got, _ := r.Document(provider.KindSums); string(got.Bytes) != listed || got.Generated {
		t.Error("SHA256SUMS was modified")
	}
}

func TestDirGeneratesSums(t *testing.T) {
	t.Parallel()
	content := packageZip(t, "x")
	s, err := builddir.New(acme, dirWith(t, map[string][]byte{"terraform-provider-widget_1.0.0_plan9_mips64.zip": content}))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Release(t.Context(), acme, version(t, "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	want := digest.FromBytes(content).Encoded() + "  terraform-provider-widget_1.0.0_plan9_mips64.zip\n"
	if got, has := r.Document(provider.KindSums); !has || string(got.Bytes) != want || !got.Generated {
		t.Errorf("got %q, generated %t", got.Bytes, got.Generated)
	}
}

func TestDirReadsZipsWithDocuments(t *testing.T) {
	t.Parallel()
	one, two := packageZip(t, "1"), packageZip(t, "2")
	dir := dirWith(t, map[string][]byte{
		"terraform-provider-widget_1.0.0_plan9_386.zip":     one,
		"terraform-provider-widget_1.0.0_plan9_386.zip.sig": []byte("s"),
		"terraform-provider-widget_1.0.0_plan9_arm.zip":     two,
		"terraform-provider-widget_1.0.0_plan9_arm.zip.sig": []byte("s"),
	})
	s, err := builddir.New(acme, filepath.Join(dir, "terraform-provider-widget_1.0.0_plan9_386.zip"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Release(t.Context(), acme, version(t, "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Packages) != 1 || len(r.Packages[0].Documents) != 1 || len(s.Ignored()) != 0 {
		t.Errorf("got %d packages, ignored %v", len(r.Packages), s.Ignored())
	}
}

func TestDirRefuses(t *testing.T) {
	t.Parallel()
	content := packageZip(t, "x")
	zeros := strings.Repeat("0", 64)
	for name, test := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"another type":         {map[string][]byte{"terraform-provider-gadget_1.0.0_plan9_386.zip": content}, `of the provider type "gadget"`},
		"two v":                {map[string][]byte{"terraform-provider-widget_vv1.0.0_plan9_386.zip": content}, `invalid version "v1.0.0"`},
		"with and without v":   {map[string][]byte{"terraform-provider-widget_v1.0.0_plan9_386.zip": content, "terraform-provider-widget_1.0.0_plan9_386.zip": content}, `both packages for plan9_386`},
		"version zero":         {map[string][]byte{"terraform-provider-widget_0.0.0_plan9_386.zip": content}, "don't know the version"},
		"an amd64 of v1":       {map[string][]byte{"terraform-provider-widget_1.0.0_linux_amd64v1.zip": content}, `did you mean terraform-provider-widget_1.0.0_linux_amd64.zip?`},
		"an arm of 7":          {map[string][]byte{"terraform-provider-widget_1.0.0_linux_arm_7.zip": content}, `did you mean terraform-provider-widget_1.0.0_linux_arm.zip?`},
		"short version":        {map[string][]byte{"terraform-provider-widget_1.0_plan9_386.zip": content}, `invalid version "1.0": want 1.0.0`},
		"no version":           {map[string][]byte{"terraform-provider-widget_next_plan9_386.zip": content}, `version "next"`},
		"no package":           {map[string][]byte{"README.md": nil}, "looked for files named terraform-provider-widget_VERSION_OS_ARCH.zip"},
		"signature only":       {map[string][]byte{"terraform-provider-widget_1.0.0_plan9_386.zip": content, "terraform-provider-widget_1.0.0_SHA256SUMS.sig": nil}, "without the terraform-provider-widget_1.0.0_SHA256SUMS that it signs"},
		"unlisted zip":         {map[string][]byte{"terraform-provider-widget_1.0.0_plan9_386.zip": content, "terraform-provider-widget_1.0.0_SHA256SUMS": []byte(zeros + "  other.zip\n")}, "does not list"},
		"other sum":            {map[string][]byte{"terraform-provider-widget_1.0.0_plan9_386.zip": content, "terraform-provider-widget_1.0.0_SHA256SUMS": []byte(zeros + "  terraform-provider-widget_1.0.0_plan9_386.zip\n")}, zeros},
		"no SBOM":              {map[string][]byte{"terraform-provider-widget_1.0.0_plan9_386.zip": content, "terraform-provider-widget_1.0.0_plan9_386.zip.sbom.json": []byte("{}")}, "neither an SPDX nor a CycloneDX"},
		"bundle of no sums":    {map[string][]byte{"terraform-provider-widget_1.0.0_plan9_386.zip": content, "terraform-provider-widget_1.0.0_SHA256SUMS.sigstore.json": nil}, "without the terraform-provider-widget_1.0.0_SHA256SUMS that it signs"},
		"bundle of old":        {map[string][]byte{"terraform-provider-widget_1.0.0_plan9_386.zip": content, "terraform-provider-widget_1.0.0_plan9_386.zip.sigstore.json": []byte(`{"mediaType":"application/vnd.dev.sigstore.bundle+json;version=0.2"}`)}, "not a Sigstore bundle of version 0.3"},
		"whose provenance":     {map[string][]byte{"terraform-provider-widget_1.0.0_plan9_386.zip": content, "terraform-provider-widget_1.1.0_plan9_386.zip": content, "terraform-provider-widget.intoto.jsonl": []byte("{}")}, "add the version to the file name"},
		"all problems at once": {map[string][]byte{"terraform-provider-widget_next_plan9_386.zip": content, "terraform-provider-gadget_1.0.0_plan9_386.zip": content}, "gadget"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := builddir.New(acme, dirWith(t, test.files))
			if err == nil {
				_, err = s.Release(t.Context(), acme, version(t, "1.0.0"))
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want …%s…", err, test.want)
			}
		})
	}
}

// TestDirVersionWithV checks that a package whose name contains a "v" is found in SHA256SUMS
// under its own name, and gets its conventional name.
func TestDirVersionWithV(t *testing.T) {
	t.Parallel()
	const listed = "terraform-provider-widget_v1.0.0_plan9_386.zip"
	content := packageZip(t, "x")
	line := fmt.Sprintf("%x  %s\n", sha256.Sum256(content), listed)
	for _, files := range []map[string][]byte{
		{listed: content}, {listed: content, "terraform-provider-widget_1.0.0_SHA256SUMS": []byte(line)},
	} {
		s, err := builddir.New(acme, dirWith(t, files))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Release(t.Context(), acme, version(t, "1.0.0"))
		if err != nil || r.Packages[0].Filename != "terraform-provider-widget_1.0.0_plan9_386.zip" || r.Packages[0].ListedAs != listed {
			t.Errorf("got %+v, %v", r.Packages, err)
		}
	}
}

// TestDirManifest checks that a manifest must match SHA256SUMS if it is listed there.
func TestDirManifest(t *testing.T) {
	t.Parallel()
	const zip, stem = "terraform-provider-widget_1.0.0_plan9_386.zip", "terraform-provider-widget_1.0.0"
	content := packageZip(t, "x")
	manifest := func(protocol string) []byte {
		return fmt.Appendf(nil, `{"metadata":{"protocol_versions":[%q]}}`, protocol)
	}
	line := func(name string, data []byte) string { return fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name) }
	for name, test := range map[string]struct {
		manifests [][]byte // in different directories
		listed    []byte
		protocols []string
		problem   string // in the error
		noted     bool
	}{
		"matches":               {[][]byte{manifest("6.0")}, manifest("6.0"), []string{"6.0"}, "", false},
		"differs":               {[][]byte{manifest("9.0")}, manifest("6.0"), nil, "checksum", false},
		"one of two differs":    {[][]byte{manifest("6.0"), manifest("9.0")}, manifest("6.0"), nil, "checksum", false},
		"missing":               {nil, manifest("6.0"), nil, "", true},
		"not listed":            {[][]byte{manifest("6.0")}, nil, []string{"6.0"}, "", false},
		"two that differ":       {[][]byte{manifest("6.0"), manifest("5.0")}, nil, nil, "only one of them can be published", false},
		"two that are the same": {[][]byte{manifest("6.0"), manifest("6.0")}, nil, []string{"6.0"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sums := line(zip, content)
			if test.listed != nil {
				sums += line(stem+"_manifest.json", test.listed)
			}
			dirs := []string{dirWith(t, map[string][]byte{zip: content, stem + "_SHA256SUMS": []byte(sums)})}
			for _, data := range test.manifests {
				dirs = append(dirs, dirWith(t, map[string][]byte{stem + "_manifest.json": data}))
			}
			s, err := builddir.New(acme, dirs...)
			if err != nil {
				t.Fatal(err)
			}
			var notes []string
			s.OnNote = func(note string) { notes = append(notes, note) }
			r, err := s.Release(t.Context(), acme, version(t, "1.0.0"))
			if test.problem == "" && err != nil || test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
				t.Errorf("got %v", err)
			}
			if errors.Is(err, builddir.ErrSums) != (test.problem == "checksum") || (len(notes) > 0) != test.noted {
				t.Errorf("got %v, notes %q", err, notes)
			}
			if err == nil && !slices.Equal(r.Protocols, test.protocols) {
				t.Errorf("got protocols %v", r.Protocols)
			}
		})
	}
}

func TestDirRefusesTwoFilesForOnePlatform(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"terraform-provider-widget_1.0.0_plan9_386.zip": packageZip(t, "x")}
	one, two := dirWith(t, files), dirWith(t, files)
	if _, err := builddir.New(acme, one, two); err == nil || !strings.Contains(err.Error(), "are both packages for plan9_386") {
		t.Errorf("got %v", err)
	}
	if _, err := builddir.New(acme, one, one); err != nil {
		t.Errorf("the same directory twice: %v", err)
	}
}

func TestDirRefusesOtherFiles(t *testing.T) {
	t.Parallel()
	dir := dirWith(t, map[string][]byte{"widget.zip": packageZip(t, "x")})
	if _, err := builddir.New(acme, filepath.Join(dir, "widget.zip")); err == nil || !strings.Contains(err.Error(), "is not named like a package") {
		t.Errorf("got %v", err)
	}
}

func TestDirIsASource(t *testing.T) {
	t.Parallel()
	zips := map[provider.Platform][]byte{{OS: "plan9", Arch: "386"}: packageZip(t, "1"), {OS: "linux", Arch: "mips"}: packageZip(t, "2")}
	files := map[string][]byte{"terraform-provider-widget_1.0.0_plan9_386.zip": packageZip(t, "old")}
	for p, content := range zips {
		files[provider.Filename(acme, version(t, "1.1.0"), p)] = content
	}
	dir := dirWith(t, files)
	sourcetest.Run(t, sourcetest.Fixture{
		New: func(t *testing.T) provider.Source {
			t.Helper()
			s, err := builddir.New(acme, dir)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Address:  acme,
		Versions: []provider.Version{version(t, "1.1.0"), version(t, "1.0.0")},
		Zips:     zips,
	})
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
