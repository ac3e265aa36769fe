package api_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
)

func TestParseSBOM(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want api.SBOM
	}{
		"SPDX 2": {
			`{"spdxVersion":"SPDX-2.3","packages":[
			{"name":"b","versionInfo":"v2","licenseConcluded":"NOASSERTION","licenseDeclared":"MIT","externalRefs":[{"referenceType":"purl","referenceLocator":"pkg:golang/b@v2"}]},
			{"name":"a","licenseConcluded":"Apache-2.0","licenseDeclared":"NONE"}]}`,
			api.SBOM{Format: "SPDX-2.3", Components: []api.Component{
				{Name: "a", License: "Apache-2.0"}, {Name: "b", Version: "v2", License: "MIT", PURL: "pkg:golang/b@v2"},
			}},
		},
		"SPDX 3": {
			`{"@context":"https://spdx.org/rdf/3.0.1/spdx-context.jsonld","@graph":[
			{"type":"software_Package","name":"a","software_packageVersion":"1","software_packageUrl":"pkg:golang/a@1"},{"type":"Person","name":"Ada"}]}`,
			api.SBOM{Format: "SPDX-3", Components: []api.Component{{Name: "a", Version: "1", PURL: "pkg:golang/a@1"}}},
		},
		"CycloneDX": {
			`{"bomFormat":"CycloneDX","specVersion":"1.6","components":[
			{"group":"g","name":"a","version":"1","purl":"pkg:golang/g/a@1","licenses":[{"license":{"id":"MIT"}},{"license":{"name":"Own"}}],
			 "components":[{"name":"<script>alert(1)</script>","licenses":[{"expression":"MIT OR BSD-3-Clause"}]}]}]}`,
			api.SBOM{Format: "CycloneDX 1.6", Components: []api.Component{
				{Name: "<script>alert(1)</script>", License: "MIT OR BSD-3-Clause"},
				{Name: "g/a", Version: "1", License: "MIT AND Own", PURL: "pkg:golang/g/a@1"},
			}},
		},
		"empty": {`{"spdxVersion":"SPDX-2.3"}`, api.SBOM{Format: "SPDX-2.3", Components: []api.Component{}}},
		"a long name": {
			`{"spdxVersion":"SPDX-2.3","packages":[{"name":"` + strings.Repeat("a", 1<<20) + `"}]}`,
			api.SBOM{Format: "SPDX-2.3", Components: []api.Component{{Name: strings.Repeat("a", 300) + "…"}}},
		},
	} {
		got, err := api.ParseSBOM([]byte(test.text))
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
	}
}

func TestParseSBOMRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing": "", "no JSON": "<xml/>", "another document": `{"name":"x"}`, "a list": `[]`, "number instead of a name": `{"spdxVersion":"SPDX-2.3","packages":[{"name":1}]}`,
		"too large": strings.Repeat(" ", api.MaxSBOM+1), "too many": `{"spdxVersion":"SPDX-2.3","packages":[` + strings.Repeat(`{},`, 10_000) + `{}]}`,
		"too much": `{"spdxVersion":"SPDX-2.3","packages":[` + strings.Repeat(`{},`, 600_000) + `{}]}`,
		"too deep": `{"bomFormat":"CycloneDX","components":` + strings.Repeat(`[{"components":`, 100) + "1" + strings.Repeat(`}]`, 100) + `}`,
	} {
		if s, err := api.ParseSBOM([]byte(text)); !errors.Is(err, api.ErrNoSBOM) || len(err.Error()) > 600 {
			t.Errorf("%s: %+.100v, %v", name, s, err)
		}
	}
}
