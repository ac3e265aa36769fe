package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// openRepository opens a repository whose template contains no variables.
func openRepository(t *testing.T, reference string, client *http.Client) repository.Repository {
	t.Helper()
	parsed, err := template.Parse(reference)
	if err != nil {
		t.Fatal(err)
	}
	a, err := provider.ParseAddress("hashicorp/time")
	if err != nil {
		t.Fatal(err)
	}
	ref, err := parsed.Repository(a)
	if err != nil {
		t.Fatal(err)
	}
	repo, err := repository.Open(ref, repository.Options{HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// wantWholeCopy checks the content of the release's tag and its referrers.
func wantWholeCopy(t *testing.T, repo repository.Repository, want provider.Document) {
	t.Helper()
	i, err := repository.Inspect(t.Context(), repo, fixture.TimeVersion, repository.DepthBlobs)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range world.platforms {
		if f := i.Platforms[p]; !f.IsIntact() || f.Manifest.Zip.Size == 0 {
			t.Errorf("%s: %s: %v, missing %v", repo, p, f.Err, f.Missing)
		}
	}
	documents, err := repository.Documents(t.Context(), repo, i.Digest)
	if err != nil || len(documents) != 1 || documents[0].Digest != want.Digest {
		t.Fatalf("%s: the documents are %v, %v", repo, documents, err)
	}
	if _, err := documents[0].Read(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAirGap copies a mirror to an isolated site: from a directory to the real
// registry, from the first repository to a second by mounting, and back. tofu-oci
// verifies each copy with pinned keys. regctl must report the same digests before and
// after. The real tofu must install the provider, and the copies must preserve the
// signature and the SBOM.
func TestAirGap(t *testing.T) {
	t.Parallel()
	// 1. Prepare the connected side: a directory, pins, and an SBOM for all platforms.
	_, config := serveOrigin(t, origintest.Options{}, world.release)
	carried, pins := filepath.Join(t.TempDir(), "mirror"), filepath.Join(t.TempDir(), "trust.hcl")
	from := "oci-layout:" + filepath.ToSlash(carried) + "/{type}"
	r := parse(t, run(t, programs.tofuOCI, "mirror", "hashicorp/time", "--to", from, "--config", config, "--ca-file", world.caFile, "--output", "json"))
	run(t, programs.tofuOCI, "trust", "init", "hashicorp/time", "--from", from, "--trust", pins)
	sbom := attachSBOM(t, from)
	// 2. Copy on the isolated side, where no origin registry is configured.
	host := startRegistry(t)
	first, second := host+"/inside/{namespace}/{type}", host+"/again/{namespace}/{type}"
	back := "oci-layout:" + filepath.ToSlash(t.TempDir()) + "/{type}"
	want := strings.TrimSpace(run(t, programs.regctl, "image", "digest", "ocidir://"+filepath.Join(carried, "time")+":"+fixture.TimeVersion))
	if want != r.Items[0].Digest {
		t.Errorf("regctl finds %s in the directory, want %s, which mirror wrote", want, r.Items[0].Digest)
	}
	for _, to := range []string{first, second, back} {
		for _, status := range []string{"created", "unchanged"} {
			got := parse(t, run(t, programs.tofuOCI, "copy", "hashicorp/time", "--all", "--from", from, "--to", to, "--ca-file", world.caFile,
				"--signatures", "require", "--trust", pins, "--output", "json")).Items[0]
			if got.Status != status || got.Digest != want || len(got.Packages) != len(world.platforms) {
				t.Errorf("copying to %s: %+v", to, got)
			}
			for _, p := range got.Packages {
				if action := map[bool]string{true: "mounted", false: "pushed"}[to == second]; status == "created" && p.Action != action {
					t.Errorf("%s was %s, not %s", p.Platform, p.Action, action)
				}
			}
		}
		checkInside(t, to, pins, sbom)
		from = to
	}
	for _, repo := range []string{"/inside", "/again"} {
		if got := strings.TrimSpace(run(t, programs.regctl, "image", "digest", host+repo+"/hashicorp/time:"+fixture.TimeVersion)); got != want {
			t.Errorf("regctl finds %s in %s, and %s in the directory", got, repo, want)
		}
	}
	// 3. Install with OpenTofu, and compare the hashes with the connected side.
	dir, _ := initialize(t, run(t, programs.tofuOCI, "tofurc", second))
	zh, _ := r.hashes(t)
	checkLock(t, dir, zh)
}

// attachSBOM attaches a document to the release in a layout.
func attachSBOM(t *testing.T, layout string) provider.Document {
	t.Helper()
	repo := openRepository(t, layout, nil)
	found, err := repository.Inspect(t.Context(), repo, fixture.TimeVersion, repository.DepthIndex)
	if err != nil {
		t.Fatal(err)
	}
	sbom := artifact.NewDocument("time.spdx.json", artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"SPDX-2.3"}`))
	if _, err := repository.Attach(t.Context(), repo, []provider.Document{sbom}, artifact.Blob{Descriptor: found.Descriptor}); err != nil {
		t.Fatal(err)
	}
	return sbom
}

// checkInside reads the complete release and verifies it with the pinned keys.
func checkInside(t *testing.T, repo, pins string, sbom provider.Document) {
	t.Helper()
	client, err := httpclient.New(httpclient.Options{CAFile: world.caFile})
	if err != nil {
		t.Fatal(err)
	}
	wantWholeCopy(t, openRepository(t, repo, client), sbom)
	run(t, programs.tofuOCI, "verify", "hashicorp/time", "--all", "--check-level", "deep", "--from", repo, "--ca-file", world.caFile, "--signatures", "require", "--trust", pins)
	listed := run(t, programs.tofuOCI, "list", "hashicorp/time@"+fixture.TimeVersion, "--from", repo, "--ca-file", world.caFile, "--trust", pins)
	if !strings.Contains(listed, "\nsigned by ") || !strings.Contains(listed, "time.spdx.json") {
		t.Errorf("unexpected output of list:\n%s", listed)
	}
	pulled := t.TempDir()
	run(t, programs.tofuOCI, "pull", "hashicorp/time", "--from", repo, "--ca-file", world.caFile, "--dir", pulled, "--with-documents", "--signatures", "require", "--trust", pins)
	if _, err := os.Stat(filepath.Join(pulled, "terraform-provider-time_"+fixture.TimeVersion+"_SHA256SUMS.sig")); err != nil {
		t.Error(err)
	}
}
