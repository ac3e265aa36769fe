package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// MaxSBOM limits the size of a software bill of materials in bytes. The SBOMs of
	// the largest providers are about 2 MB in size.
	MaxSBOM = 8 << 20
	// maxSBOMValues limits the number of JSON values. Each component has about thirty
	// values.
	maxSBOMValues = 500_000
	// maxComponents limits the number of components. The largest providers have about a
	// thousand components.
	maxComponents = 10_000
	// maxText limits the size of each string of a component in bytes.
	maxText = 300
)

// ErrNoSBOM means that a document is not a supported SBOM, or that it exceeds a limit.
var ErrNoSBOM = provider.Errorf(provider.Refused, "cannot show the software bill of materials")

// ParseSBOM parses the components of an SPDX or CycloneDX document in JSON. It returns
// [ErrNoSBOM], wrapped with a reason.
func ParseSBOM(data []byte) (SBOM, error) {
	fail := func(reason string) (SBOM, error) { return SBOM{}, fmt.Errorf("%w: %s", ErrNoSBOM, reason) }
	if len(data) > MaxSBOM {
		return fail(fmt.Sprintf("document exceeds %d bytes", MaxSBOM))
	}
	var d sbomDocument
	if err := bounded.DecodeJSON(data, &d, maxSBOMValues); err != nil {
		return fail("parsing the document: " + clip(err.Error()))
	}
	s := SBOM{Components: []Component{}}
	switch {
	case d.SPDX != "":
		s.Format = d.SPDX // "SPDX-2.3"
		s.Components = d.spdx2(s.Components)
	case d.Format == "CycloneDX":
		s.Format = strings.TrimSpace("CycloneDX " + text(d.SpecVersion))
		s.Components = nested(s.Components, d.Components)
	case len(d.Graph) > 0:
		s.Format = "SPDX-3"
		s.Components = d.spdx3(s.Components)
	default:
		return fail("unknown format, want SPDX or CycloneDX")
	}
	if len(s.Components) > maxComponents {
		return fail(fmt.Sprintf("document exceeds %d components", maxComponents))
	}
	s.Format = clip(s.Format)
	slices.SortStableFunc(s.Components, func(a, b Component) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version), cmp.Compare(a.PURL, b.PURL))
	})
	return s, nil
}

// sbomDocument contains the relevant fields of all formats.
type sbomDocument struct {
	// For SPDX 2, see https://spdx.github.io/spdx-spec/v2.3/package-information/.
	SPDX     string `json:"spdxVersion"`
	Packages []struct {
		Name         string `json:"name"`
		Version      string `json:"versionInfo"`
		Concluded    string `json:"licenseConcluded"`
		Declared     string `json:"licenseDeclared"`
		ExternalRefs []struct {
			Type    string `json:"referenceType"`
			Locator string `json:"referenceLocator"`
		} `json:"externalRefs"`
	} `json:"packages"`
	// For CycloneDX, see https://cyclonedx.org/docs/1.6/json/.
	Format      string               `json:"bomFormat"`
	SpecVersion json.RawMessage      `json:"specVersion"`
	Components  []cycloneDXComponent `json:"components"`
	// For SPDX 3, see
	// https://spdx.github.io/spdx-spec/v3.0.1/model/Software/Classes/Package/.
	Graph []struct {
		Type    string `json:"type"`
		Name    string `json:"name"`
		Version string `json:"software_packageVersion"`
		PURL    string `json:"software_packageUrl"`
	} `json:"@graph"`
}

type cycloneDXComponent struct {
	Group    string `json:"group"`
	Name     string `json:"name"`
	Version  string `json:"version"`
	PURL     string `json:"purl"`
	Licenses []struct {
		Expression string `json:"expression"`
		License    struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"license"`
	} `json:"licenses"`
	Components []cycloneDXComponent `json:"components"`
}

func (d sbomDocument) spdx2(all []Component) []Component {
	for _, p := range d.Packages {
		c := Component{Name: clip(p.Name), Version: clip(p.Version)}
		for _, license := range []string{p.Declared, p.Concluded} {
			if license != "NOASSERTION" && license != "NONE" {
				c.License = cmp.Or(clip(license), c.License)
			}
		}
		for _, ref := range p.ExternalRefs {
			if ref.Type == "purl" {
				c.PURL = clip(ref.Locator)
			}
		}
		all = append(all, c)
	}
	return all
}

func (d sbomDocument) spdx3(all []Component) []Component {
	for _, e := range d.Graph {
		if e.Type == "software_Package" {
			all = append(all, Component{Name: clip(e.Name), Version: clip(e.Version), PURL: clip(e.PURL)})
		}
	}
	return all
}

// nested appends components and their nested components.
func nested(all []Component, components []cycloneDXComponent) []Component {
	for _, c := range components {
		name := c.Name
		if c.Group != "" {
			name = c.Group + "/" + c.Name
		}
		var licenses []string
		for _, l := range c.Licenses {
			if license := cmp.Or(l.Expression, l.License.ID, l.License.Name); license != "" && len(licenses) < 10 {
				licenses = append(licenses, license)
			}
		}
		all = append(all, Component{Name: clip(name), Version: clip(c.Version), License: clip(strings.Join(licenses, " AND ")), PURL: clip(c.PURL)})
		all = nested(all, c.Components)
	}
	return all
}

// text returns the value of a JSON string, or "" if the value is not a string.
func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

// clip truncates a string to maxText bytes.
func clip(s string) string {
	if len(s) <= maxText {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}
