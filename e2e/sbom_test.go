//go:build unix

package e2e_test

import (
	"archive/zip"
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// cycloneDX contains the fields of a document that the tests compare.
type cycloneDX struct {
	Metadata struct {
		Component struct {
			Hashes []struct{ Content string }
		}
	}
	Components []struct{ Type, Name, Version, PURL string }
}

// modules returns the package URLs of the Go modules, except for the main module, whose
// version Syft determines in a different way.
func (d cycloneDX) modules() (found []string) {
	for _, c := range d.Components {
		if strings.HasPrefix(c.PURL, "pkg:golang/") && c.Name != "github.com/hashicorp/terraform-provider-time" {
			found = append(found, c.Name+" "+c.Version+" "+c.PURL)
		}
	}
	slices.Sort(found)
	return found
}

func parseCycloneDX(t *testing.T, text string) (d cycloneDX) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSBOMMatchesSyft mirrors the real provider with generated SBOMs, and compares them
// with the SBOMs that Syft generates from the unpacked executables.
func TestSBOMMatchesSyft(t *testing.T) {
	t.Parallel()
	host := startRegistry(t)
	_, config := serveOrigin(t, origintest.Options{}, world.release)
	to := host + "/sbom/{namespace}/{type}"
	mirror := []string{"mirror", "hashicorp/time", "--to", to, "--ca-file", world.caFile, "--config", config, "--output", "json"}
	bare := parse(t, run(t, programs.tofuOCI, mirror...))
	extended := parse(t, run(t, programs.tofuOCI, append(mirror, "--sbom", "auto")...))
	again := parse(t, run(t, programs.tofuOCI, append(mirror, "--sbom", "auto")...))
	if bare.Items[0].Status != "created" || extended.Items[0].Status != "extended" || again.Items[0].Status != "unchanged" {
		t.Errorf("got %s, %s, and %s", bare.Items[0].Status, extended.Items[0].Status, again.Items[0].Status)
	}
	installFrom(t, to, extended)

	for _, p := range world.platforms {
		dir, unpacked := t.TempDir(), t.TempDir()
		pull := []string{"pull", "hashicorp/time", "--from", to, "--platform", p.String(), "--ca-file", world.caFile}
		run(t, programs.tofuOCI, append(pull, "--dir", dir, "--with-documents")...)
		run(t, programs.tofuOCI, append(pull, "--dir", unpacked, "--layout", "unpacked")...)
		document, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("terraform-provider-time_%s_%s.cdx.json", fixture.TimeVersion, p)))
		if err != nil {
			t.Fatal(err)
		}
		binaries, err := filepath.Glob(filepath.Join(unpacked, "*", "*", "*", "*", "*", "terraform-provider-time_*"))
		if err != nil || len(binaries) != 1 {
			t.Fatalf("executables %v, %v", binaries, err)
		}
		got := parseCycloneDX(t, string(document))
		want := parseCycloneDX(t, run(t, programs.syft, "scan", "file:"+binaries[0], "-q", "-o", "cyclonedx-json"))
		if diff := cmp.Diff(want.modules(), got.modules()); diff != "" || len(got.modules()) < 20 {
			t.Errorf("%s: %d modules (-Syft +tofu-oci):\n%s", p, len(got.modules()), diff)
		}
		if subject := got.Metadata.Component.Hashes[0].Content; !bytes.Contains(world.release.Sums, []byte(subject)) {
			t.Errorf("%s: SHA256SUMS does not contain the subject %s", p, subject)
		}
	}
}

// TestBuildInfoOfRealProvider compares the build information that is found in a stream
// with the standard library, for several linkers' formats and modes.
func TestBuildInfoOfRealProvider(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]struct {
		environment []string
		flags       []string
	}{
		"linux":           {[]string{"GOOS=linux", "GOARCH=amd64"}, nil},
		"linux, stripped": {[]string{"GOOS=linux", "GOARCH=amd64"}, []string{"-trimpath", "-ldflags", "-s -w"}},
		"linux, PIE":      {[]string{"GOOS=linux", "GOARCH=amd64"}, []string{"-buildmode", "pie", "-ldflags", "-s -w"}},
		"darwin":          {[]string{"GOOS=darwin", "GOARCH=arm64"}, nil},
		"windows":         {[]string{"GOOS=windows", "GOARCH=386"}, []string{"-trimpath", "-ldflags", "-s -w"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			binary := filepath.Join(dir, "terraform-provider-time")
			cmd := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"build", "-C", programs.timeModule, "-o", binary}, build.flags, []string{"github.com/hashicorp/terraform-provider-time"})...)
			cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="), build.environment...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			want, err := buildinfo.ReadFile(binary)
			if err != nil || len(want.Deps) < 20 {
				t.Fatalf("debug/buildinfo: %v, %v", want, err)
			}
			data := zipOfFile(t, binary)
			got, err := packagezip.HashStream(t.Context(), bytes.NewReader(data), packagezip.WithBuildInfo("time"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.BuildInfo); diff != "" {
				t.Errorf("(-debug/buildinfo +packagezip):\n%s", diff)
			}
		})
	}
}

// zipOfFile returns a zip that contains one file.
func zipOfFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(filepath.Base(path))
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
