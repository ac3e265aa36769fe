package explain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestGateHints checks that the hints about decisions of gates don't recommend --force.
func TestGateHints(t *testing.T) {
	t.Parallel()
	record := repository.DecisionRecord{Decision: artifact.Decision{Gate: "scan@0123456789ab", Verdict: artifact.VerdictDeny}}
	for want, err := range map[string]error{
		"change the gate's policy": &repository.DeniedError{Record: record},
	} {
		if hint := explain.Hint(err); !strings.Contains(hint, want) || strings.Contains(hint, "force") {
			t.Errorf("got %q, want %q in it", hint, want)
		}
	}
	if hint := explain.Hint(&repository.DeniedError{}); !strings.Contains(hint, "--force") {
		t.Errorf("got %q", hint)
	}
}

// TestDeleteManifestHint checks that the hint about a manifest that was not deleted names it.
func TestDeleteManifestHint(t *testing.T) {
	t.Parallel()
	d := digest.FromString("an index")
	for registry, want := range map[string]string{
		"ghcr.io": "delete the package version " + d.String(),
		"123456789012.dkr.ecr.eu-central-1.amazonaws.com": "imageDigest=" + d.String(),
		"registry.gitlab.com":                             "cleanup policy that removes tags matching pruned-.*",
		"harbor.example.com":                              "projects/acme/repositories/x%252Fnull/artifacts/" + d.String(),
		"acme.azurecr.io":                                 "az acr repository delete --name acme.azurecr.io --image acme/x/null@" + d.String(),
		"quay.io":                                         "on the page of acme/x/null at quay.io",
		"registry-1.docker.io":                            "delete the image " + d.String(),
		"registry.example.com":                            "delete the manifest " + d.String(),
	} {
		err := fmt.Errorf("%w: %w", repository.ErrTagNotDeleted, &repository.Error{Op: "deleting manifest", Registry: registry, Name: "acme/x/null", Reference: d.String(), Err: errors.New("405")})
		if hint := explain.UntagHint(err); !strings.Contains(hint, want) {
			t.Errorf("%s: got %q, want %q in it", registry, hint, want)
		}
	}
}
