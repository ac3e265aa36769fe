package main_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
)

// requestsOfECR maps kinds of requests to their names in the table of docs/ecr.md.
var requestsOfECR = map[registrytest.Kind]string{
	registrytest.Tags:           "`GET /v2/NAME/tags/list`",
	registrytest.ManifestGet:    "`GET` or `HEAD /v2/NAME/manifests/…`",
	registrytest.ManifestHead:   "`GET` or `HEAD /v2/NAME/manifests/…`",
	registrytest.Referrers:      "`GET /v2/NAME/referrers/…`",
	registrytest.BlobGet:        "`GET /v2/NAME/blobs/…`",
	registrytest.BlobHead:       "`HEAD /v2/NAME/blobs/…`",
	registrytest.UploadPost:     "`POST /v2/NAME/blobs/uploads/`",
	registrytest.Mount:          "`POST /v2/NAME/blobs/uploads/?mount=…&from=OTHER`",
	registrytest.UploadPut:      "`PUT /v2/NAME/blobs/uploads/…`",
	registrytest.ManifestPut:    "`PUT /v2/NAME/manifests/…`",
	registrytest.ManifestDelete: "`DELETE /v2/NAME/manifests/TAG`",
	registrytest.Catalog:        "`GET /v2/_catalog`",
}

// TestECRPermissions checks docs/ecr.md against the requests of commands. The permissions that the page
// lists for a job must be sufficient and necessary.
func TestECRPermissions(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	page := readPage(t, filepath.Join("..", "..", "docs", "ecr.md"))
	table := rightsOfRequests(page)
	policies := policiesIn(t, page)
	if len(policies) != 2 {
		t.Fatalf("%d policies", len(policies))
	}
	s := newRequestStage(t, 1, 2)
	from, to := s.registryHost+"/providers/{type}", s.registryHost+"/elsewhere/{type}"
	// 1. Installing requires only the permissions in the first row of the table of
	// jobs.
	install := []string{"ecr:BatchGetImage", "ecr:GetAuthorizationToken", "ecr:GetDownloadUrlForLayer", "ecr:ListImages"}
	write := s.rights(t, table, [][]string{
		{"mirror", s.provider + "@1.0.0", "--to", from},
		{"mirror", s.provider + "@1.0.0", "--to", from},
		{"mirror", s.provider + "@1.1.0", "--stage", "--to", from},
		{"promote", s.provider + "@1.1.0", "--to", from},
		{"copy", s.provider + "@1.1.0", "--from", from, "--to", to},
	})
	got := s.rights(t, table, [][]string{
		{"list", s.provider, "--from", from},
		{"list", s.provider + "@1.0.0", "--from", from},
		{"pull", s.provider, "--platform", platform(0).String(), "--from", from, "--dir", filepath.Join(s.dir, "pulled")},
		{"lock", s.provider, "--from", from, "--root", s.dir, "--dry-run"},
	})
	if diff := cmp.Diff(install, got); diff != "" {
		t.Errorf("to install, -page +requested:\n%s", diff)
	}
	for _, right := range install {
		if job := "| `tofu init`, `pull`"; !strings.Contains(lineWith(page, job), right) {
			t.Errorf("the page's line of jobs lacks %s", right)
		}
	}
	// 2. The policies grant the permissions for reading and writing.
	read := slices.Concat(got, s.rights(t, table, [][]string{{"verify", s.provider, "--all", "--from", from}}))
	if diff := cmp.Diff(policies[0], sorted(read)); diff != "" {
		t.Errorf("to read, -page +requested:\n%s", diff)
	}
	if diff := cmp.Diff(policies[1], sorted(slices.Concat(read, write))); diff != "" {
		t.Errorf("to write, -page +requested:\n%s", diff)
	}
}

// rights runs commands and returns the permissions that their requests require.
func (s *requestStage) rights(t *testing.T, table map[string][]string, commands [][]string) []string {
	t.Helper()
	needed := []string{"ecr:GetAuthorizationToken"}
	for _, args := range commands {
		before := s.registry.Requests()
		s.counted(t, args)
		for kind, n := range s.registry.Requests() {
			rights := table[requestsOfECR[kind]]
			switch {
			case n == before[kind]:
			case len(rights) == 0:
				t.Errorf("%v: the page has no right for %s", args, kind)
			default:
				needed = append(needed, rights...)
			}
		}
	}
	return sorted(needed)
}

// rightsOfRequests parses the table of requests.
func rightsOfRequests(page string) map[string][]string {
	rights := map[string][]string{}
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for span := range strings.SplitSeq(cells[2], "`") {
			if strings.HasPrefix(span, "ecr:") {
				request := strings.TrimSpace(cells[1])
				rights[request] = append(rights[request], span)
			}
		}
	}
	return rights
}

// policiesIn returns the actions that each policy of a page allows.
func policiesIn(t *testing.T, page string) (policies [][]string) {
	t.Helper()
	for _, block := range codeBlocks(page) {
		if block.language != "json" {
			continue
		}
		var policy struct {
			Statement []struct{ Action any }
		}
		if err := json.Unmarshal([]byte(block.text), &policy); err != nil {
			t.Fatal(err)
		}
		var actions []string
		for _, s := range policy.Statement {
			switch action := s.Action.(type) {
			case string:
				actions = append(actions, action)
			case []any:
				for _, one := range action {
					actions = append(actions, one.(string))
				}
			}
		}
		policies = append(policies, sorted(actions))
	}
	return policies
}

// sorted returns sorted values without duplicates.
func sorted(all []string) []string {
	once := map[string]bool{}
	for _, one := range all {
		once[one] = true
	}
	return slices.Sorted(maps.Keys(once))
}

func lineWith(page, text string) string {
	for line := range strings.Lines(page) {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}
