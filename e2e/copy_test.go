package e2e_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// openRepository opens what a template names without variables.
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

// TestTofuInstallsFromACopy: what was mirrored into a layout is copied into the
// real registry, there into another repository by mounting, and back; OpenTofu
// installs from either copy.
func TestTofuInstallsFromACopy(t *testing.T) {
	t.Parallel()
	_, config := serveOrigin(t, origintest.Options{}, world.release)
	host := startRegistry(t)
	client, err := httpclient.New(httpclient.Options{CAFile: world.caFile})
	if err != nil {
		t.Fatal(err)
	}
	mirrored := "oci-layout:" + filepath.ToSlash(t.TempDir()) + "/{namespace}/{type}"
	r := parse(t, run(t, programs.tofuOCI, "mirror", "hashicorp/time", "--to", mirrored, "--config", config, "--ca-file", world.caFile, "--output", "json"))
	layout := openRepository(t, mirrored, client)
	found, err := repository.Inspect(t.Context(), layout, fixture.TimeVersion, repository.DepthIndex)
	if err != nil {
		t.Fatal(err)
	}
	sbom := artifact.NewDocument("time.spdx.json", artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"SPDX-2.3"}`))
	if _, err := repository.Attach(t.Context(), layout, []provider.Document{sbom}, found.Descriptor, 0); err != nil {
		t.Fatal(err)
	}

	first, second := host+"/copied/{namespace}/{type}", host+"/again/{namespace}/{type}"
	back := "oci-layout:" + filepath.ToSlash(t.TempDir()) + "/{type}"
	from := layout
	for _, to := range []string{first, second, back} {
		target := openRepository(t, to, client)
		for run := range 2 {
			done, err := repository.Copy(t.Context(), from, target, fixture.TimeVersion, repository.CopyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if done.Digest.String() != r.Results[0].Digest || done.Referrers != 1 || done.Tagged != (run == 0) {
				t.Errorf("%s: %+v", to, done)
			}
			if mounts := to == second && run == 0; (done.Mounted > 0) != mounts || (done.Blobs > 0) != (run == 0 && !mounts) {
				t.Errorf("%s: %d blobs were sent, %d mounted", to, done.Blobs, done.Mounted)
			}
		}
		wantWholeCopy(t, target, sbom)
		from = target
	}
	for _, to := range []string{first, second} {
		dir, _ := initialize(t, run(t, programs.tofuOCI, "tofurc", to))
		zh, _ := r.hashes(t)
		checkLock(t, dir, zh)
	}
}

// wantWholeCopy looks at all that the tag leads to, and at what refers to it.
func wantWholeCopy(t *testing.T, repo repository.Repository, want provider.Document) {
	t.Helper()
	i, err := repository.Inspect(t.Context(), repo, fixture.TimeVersion, repository.DepthBlobs)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range world.platforms {
		if f := i.Platforms[p]; !f.Whole() || f.Manifest.Zip.Size == 0 {
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
