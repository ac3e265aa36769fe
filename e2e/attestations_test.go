//go:build unix

package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestAttestationsWithCosign mirrors a release with an attestation that cosign signed, and
// copies it. The gate that runs cosign holds the release if another key is required.
// cosign also verifies the attestation that pull writes. The registry has no referrers
// API.
func TestAttestationsWithCosign(t *testing.T) {
	t.Parallel()
	// 1. Sign a zip with a key.
	here := provider.CurrentPlatform()
	zip := world.release.Archives[here].Path
	dir := t.TempDir()
	key, other, predicate, bundle := filepath.Join(dir, "cosign"), filepath.Join(dir, "other"), filepath.Join(dir, "predicate.json"), filepath.Join(dir, "bundle.json")
	write(t, predicate, `{"buildDefinition":{},"runDetails":{}}`)
	cosign := func(args ...string) (string, error) {
		cmd := command(t, programs.cosign, args...)
		cmd.Dir, cmd.Env = dir, append(cmd.Env, "COSIGN_PASSWORD=")
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	for _, args := range [][]string{
		{"generate-key-pair"},
		{"generate-key-pair", "--output-key-prefix", "other"},
		{"attest-blob", "--key", key + ".key", "--predicate", predicate, "--type", "slsaprovenance1", "--bundle", bundle, "--tlog-upload=false", "--use-signing-config=false", "--yes", zip},
	} {
		if text, err := cosign(args...); err != nil {
			t.Fatalf("%s: %v\n%s", args[0], err, text)
		}
	}
	// 2. Serve it as GitHub's attestation of the zip.
	signed, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(zip)
	if err != nil {
		t.Fatal(err)
	}
	github, host, config := serveGitHub(t)
	github.Attest(host, signed, digest.FromBytes(content))
	// 3. Mirror and copy the release.
	from, to := startRegistry(t)+"/attested/{namespace}/{type}", "oci-layout:"+filepath.ToSlash(t.TempDir())+"/{namespace}/{type}"
	mirror := func(publicKey string) report {
		t.Helper()
		gate := example(t, "cosign.sh") + " {zip} {attestations} --key " + publicKey + " --type slsaprovenance1 --insecure-ignore-tlog=true"
		cmd := gated(t, gate, "mirror", "hashicorp/time", "--platform", here.String(), "--attestations", "require", "--to", from, "--config", config, "--output", "json")
		cmd.Env = append(cmd.Env, "GITHUB_SERVER_URL=https://"+host, "GITHUB_API_URL=https://"+host+"/api/v3", "GITHUB_TOKEN=ghp_secret")
		return parse(t, output(t, cmd))
	}
	mirror(other + ".pub")
	if tags := tagsOf(t, from); slices.Contains(tags, fixture.TimeVersion) || !slices.Contains(tags, "pending-"+fixture.TimeVersion) {
		t.Errorf("held: tags %q", tags)
	}
	created := mirror(key + ".pub")
	if created.Items[0].Status != "created" {
		t.Errorf("got %+v", created.Items[0])
	}
	installFrom(t, from, created)
	run(t, programs.tofuOCI, "copy", "hashicorp/time", "--all", "--from", from, "--to", to, "--ca-file", world.caFile)
	// 4. Verify the stored attestation.
	for _, from := range []string{from, to} {
		if text := run(t, programs.tofuOCI, "list", "hashicorp/time@"+fixture.TimeVersion, "--from", from, "--ca-file", world.caFile); !strings.Contains(text, "sigstore.json") {
			t.Errorf("list:\n%s", text)
		}
		out := t.TempDir()
		run(t, programs.tofuOCI, "pull", "hashicorp/time", "--from", from, "--dir", out, "--with-documents", "--ca-file", world.caFile)
		stored, err := filepath.Glob(filepath.Join(out, "*.zip.*.sigstore.json"))
		if err != nil || len(stored) != 1 {
			t.Fatalf("got %v, %v", stored, err)
		}
		verify := []string{"verify-blob-attestation", "--key", key + ".pub", "--type", "slsaprovenance1", "--insecure-ignore-tlog=true", "--bundle", stored[0]}
		if text, err := cosign(append(verify, strings.Split(stored[0], ".zip.")[0]+".zip")...); err != nil || !strings.Contains(text, "Verified OK") {
			t.Errorf("%v\n%s", err, text)
		}
		if text, err := cosign(append(verify, predicate)...); err == nil || !strings.Contains(text, "does not match") {
			t.Errorf("another file: %v\n%s", err, text)
		}
	}
}

// serveGitHub serves the release of the world from a GitHub server. It returns the server,
// its host, and a CLI configuration that refers to its registry.
func serveGitHub(t *testing.T) (github *origintest.GitHub, host, config string) {
	t.Helper()
	github = origintest.NewGitHub(origintest.New(origintest.Options{}))
	r := world.release
	r.Edit = github.Edit
	if err := github.Origin.Add(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	url, stop, err := fixture.Serve(t.Context(), world.ca, github)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	config = filepath.Join(t.TempDir(), "origin.tofurc")
	write(t, config, fixture.CLIConfig(url))
	return github, strings.TrimPrefix(url, "https://"), config
}
