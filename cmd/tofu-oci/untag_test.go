package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
)

// TestDeleteTagHints covers denied versions whose tag could not be deleted. deny must print
// a warning and explain how to delete the tag in the registry.
func TestDeleteTagHints(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for to, hint := range map[string]string{
		"ghcr.io/acme/providers/{namespace}/{type}": "gh api --method DELETE '/orgs/acme/packages/container/providers%2Fhashicorp%2Fnull/versions/ID'",
		ecrHost + "/acme/{type}":                    "aws ecr batch-delete-image --repository-name acme/null --image-ids imageTag=3.2.4",
		"registry.gitlab.com/acme/providers/{type}": "delete the tag 3.2.4 on the project's page Deploy > Container registry",
		"registry-1.docker.io/acme/{type}":          "delete the tag 3.2.4 under Tags, on the page of acme/null at hub.docker.com",
		"quay.io/acme/{type}":                       "delete the tag 3.2.4 under Tags, on the page of acme/null at quay.io",
		"harbor.example.com/acme/x/{type}":          "DELETE https://harbor.example.com/api/v2.0/projects/acme/repositories/x%252Fnull/artifacts/3.2.4/tags/3.2.4",
		"acme.azurecr.io/x/{type}":                  "az acr repository untag --name acme.azurecr.io --image x/null:3.2.4",
		"registry.example.com/acme/{type}":          "CNCF Distribution requires version 3 and storage.delete.enabled: true",
	} {
		host, _, _ := strings.Cut(to, "/")
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			w := newProxied(t, host)
			if code, _, stderr := w.run(t, "mirror", "hashicorp/null", "--to", to); code != 0 {
				t.Fatal(stderr)
			}
			w.registry.Misbehave(registrytest.ManifestDelete, origintest.Status(http.StatusMethodNotAllowed), -1)
			code, stdout, stderr := w.run(t, "deny", "hashicorp/null@3.2.4", "--reason", "x", "--to", to)
			if code != 3 || !strings.Contains(stdout, "  the tag 3.2.4 was not deleted, so tofu init can still install the version: ") {
				t.Errorf("exit code %d\n%s", code, stdout)
			}
			if !strings.Contains(stderr, "is denied, but tofu init can still install this version; ") || !strings.Contains(stderr, hint) {
				t.Errorf("no hint %q in:\n%s", hint, stderr)
			}
			// Promoting with --force fails in the same way, and the version stays
			// denied.
			code, _, stderr = w.run(t, "promote", "hashicorp/null@3.2.4", "--force", "--to", to)
			if code != 1 || !strings.Contains(stderr, "version is still denied") || !strings.Contains(stderr, "denied-3.2.4") {
				t.Errorf("exit code %d\n%s", code, stderr)
			}
		})
	}
}
