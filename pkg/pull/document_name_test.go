package pull_test

import (
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
)

func TestIsDocumentName(t *testing.T) {
	t.Parallel()
	a := nouns.Address(t, "hashicorp/time")
	const stem = "terraform-provider-time"
	for _, name := range []string{
		stem + "_1.0.0_SHA256SUMS", stem + "_1.0.0_SHA256SUMS.sig", stem + "_1.0.0_SHA256SUMS.gpg", stem + "_1.0.0_SHA256SUMS.asc",
		stem + "_1.0.0_SHA256SUMS.72D7468F.sig", stem + "_1.0.0_SHA256SUMS.keys.asc",
		stem + "_1.0.0_linux_amd64.zip.sig", stem + "_1.0.0_linux_amd64.zip.gpg", stem + "_1.0.0_linux_amd64.zip.34365D9472D7468F.asc",
		stem + "_1.0.0_linux_amd64.spdx.json", stem + "_1.0.0_SHA256SUMS.sigstore.json", stem + "_1.0.0_linux_amd64.zip.sigstore.json", stem + "_1.0.0_linux_amd64.zip.sbom.json", stem + "_1.0.0.cdx.json",
		stem + ".spdx.json", stem + ".intoto.jsonl", stem + "_1.0.0_manifest.json",
	} {
		if !pull.IsDocumentName(name, a) {
			t.Errorf("%q: got false, want true", name)
		}
	}
	for _, name := range []string{
		"", stem, stem + "_", stem + ".", stem + "_override.tf", stem + "_override.tf.json", stem + "_1.0.0.exe", stem + "_1.0.0", stem + "_1.0.0.auto.tfvars.json",
		stem + "scale_1.0.0_SHA256SUMS", stem + "-x_1.0.0_SHA256SUMS", stem + "scale.spdx.json", "terraform-provider-tim_1.0.0_SHA256SUMS",
		stem + "_1.0.0_linux_amd64.zip", stem + "_1.0.0_linux_amd64.sig", stem + "_1.0.0.exe.sig", stem + "_1.0.0_SHA256SUMS.exe", stem + "_1.0.0SHA256SUMS",
		stem + "_1.0.0_SHA256SUMS.xyz.sig", stem + "_1.0.0_SHA256SUMS.1234567.sig", stem + "_1.0.0_SHA256SUMS..sig", stem + "_SHA256SUMS.72D7468F.72D7468F.sig",
		"SHA256SUMS", "spdx.json", stem + "_../x.spdx.json", stem + "_1.0.0_SHA256SUMS ", stem + "_a\nb.spdx.json", "x/" + stem + ".spdx.json",
	} {
		if pull.IsDocumentName(name, a) {
			t.Errorf("%q: got true, want false", name)
		}
	}
}
