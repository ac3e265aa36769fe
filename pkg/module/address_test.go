package module_test

import (
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/module"
)

func TestParseRequirement(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"terraform-aws-modules/vpc/aws":          "registry.opentofu.org/terraform-aws-modules/vpc/aws",
		"example.com:8443/Azure/a_b/x@~> 1.0":    "example.com:8443/Azure/a_b/x@~> 1.0",
		"acme/vpc/aws@latest":                    "registry.opentofu.org/acme/vpc/aws",
		"acme/vpc/aws//modules/x":                "",
		"acme/vpc":                               "",
		"github.com/acme/vpc/aws":                "",
		"acme/vpc/aws@x":                         "",
		"registry.terraform.io/acme/vpc/aws@1.0": "registry.terraform.io/acme/vpc/aws@1.0",
	} {
		r, err := module.ParseRequirement(text)
		if (err != nil) != (want == "") || err == nil && r.String() != want {
			t.Errorf("ParseRequirement(%q) = %s, %v, want %q", text, r, err, want)
		}
	}
}

func TestParseReference(t *testing.T) {
	t.Parallel()
	const digest = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	for text, target := range map[string]string{
		"oci://ghcr.io/acme/vpc":                   "",
		"oci://ghcr.io/acme/vpc@1.2.0+a":           "1.2.0_a",
		"oci://localhost:5000/acme/vpc?tag=latest": "latest",
		"oci://ghcr.io/acme/vpc?digest=" + digest:  digest,
		"oci-layout:a@b/vpc@1.2.0":                 "1.2.0",
		"oci-layout:a@b/vpc":                       "",
		"oci-layout:/srv/modules/vpc":              "",
	} {
		r, err := module.ParseReference(text)
		if err != nil || r.String() != text || r.Target() != target || !module.IsReference(text) {
			t.Errorf("ParseReference(%q) = %s (%s), %v", text, r, r.Target(), err)
		}
	}
	for _, text := range []string{
		"oci://ghcr.io", "oci://ghcr.io/acme/vpc//sub", "oci://ghcr.io/acme/vpc@~> 1.0", "oci://ghcr.io/acme/vpc?archive=zip",
		"oci://ghcr.io/acme/vpc?tag=a&digest=b", "oci://ghcr.io/acme/vpc?digest=sha256:1", "oci://ghcr.io/acme/vpc@1.0.0?tag=a", "oci-layout:",
	} {
		if r, err := module.ParseReference(text); err == nil {
			t.Errorf("ParseReference(%q) = %+v, want an error", text, r)
		}
	}
}

// TestReferenceVersionError checks that the error shows the position of the problem once.
func TestReferenceVersionError(t *testing.T) {
	t.Parallel()
	_, err := module.ParseReference("oci://ghcr.io/acme/vpc@v1.0.7")
	want := `invalid module reference "oci://ghcr.io/acme/vpc@v1.0.7": the version after @ is invalid: a "v" prefix should not be used (at character 24)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
