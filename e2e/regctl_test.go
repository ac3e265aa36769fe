package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestPullHandmadeArtifact pulls an artifact that regctl assembled. The artifact
// contains neither tofu-oci's annotations nor checksums. OpenTofu installs such
// artifacts.
func TestPullHandmadeArtifact(t *testing.T) {
	t.Parallel()
	host := startRegistry(t)
	repository := host + "/by-hand/time"
	here := provider.CurrentPlatform()
	zip := world.release.Archives[here].Path
	byHand(t, repository, here, zip)

	initialize(t, fmt.Sprintf(`provider_installation {
  oci_mirror {
    repository_template = "%s/by-hand/${type}"
    include             = ["registry.opentofu.org/hashicorp/*"]
  }
}
`, host))

	dir := filepath.Join(t.TempDir(), "out")
	text := run(t, programs.tofuOCI, "pull", "hashicorp/time@"+fixture.TimeVersion, "--from", host+"/by-hand/{type}", "--dir", dir, "--ca-file", world.caFile)
	if !strings.Contains(text, "no checksum") {
		t.Errorf("pull does not report the missing checksums:\n%s", text)
	}
	want, err := os.ReadFile(zip)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("terraform-provider-time_%s_%s.zip", fixture.TimeVersion, here)))
	if err != nil {
		t.Fatal(err)
	}
	if digest.FromBytes(got) != digest.FromBytes(want) {
		t.Error("the pulled zip differs from the published one")
	}
}

// byHand assembles an artifact with regctl, one document at a time.
func byHand(t *testing.T, repository string, p provider.Platform, zip string) {
	t.Helper()
	content, err := os.ReadFile(zip)
	if err != nil {
		t.Fatal(err)
	}
	regctl := func(stdin []byte, args ...string) {
		t.Helper()
		cmd := command(t, programs.regctl, args...)
		cmd.Stdin = strings.NewReader(string(stdin))
		output(t, cmd)
	}
	describe := func(mediaType string, content []byte) map[string]any {
		return map[string]any{"mediaType": mediaType, "digest": digest.FromBytes(content), "size": len(content)}
	}
	marshal := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	const target = "application/vnd.opentofu.provider-target"
	regctl(content, "blob", "put", repository)
	regctl([]byte("{}"), "blob", "put", repository)
	manifest := marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": target,
		"config": describe("application/vnd.oci.empty.v1+json", []byte("{}")),
		"layers": []any{describe("archive/zip", content)},
	})
	regctl(manifest, "manifest", "put", "--content-type", "application/vnd.oci.image.manifest.v1+json", "--by-digest", repository)
	entry := describe("application/vnd.oci.image.manifest.v1+json", manifest)
	entry["artifactType"] = target
	entry["platform"] = map[string]any{"os": p.OS, "architecture": p.Arch}
	index := marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "artifactType": "application/vnd.opentofu.provider",
		"manifests": []any{entry},
	})
	regctl(index, "manifest", "put", "--content-type", "application/vnd.oci.image.index.v1+json", repository+":"+fixture.TimeVersion)
}
