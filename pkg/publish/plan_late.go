package publish

import (
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// late gives the names of documents that the source has and the tag has not,
// sorted: evidence that comes after the zips. What is there already stays as it
// is, even if the source's has other bytes by now, as an SBOM that is made anew;
// only a signature comes with the sums that it signs.
func late(old repository.Inspection, r provider.Release) []string {
	var names []string
	for _, pkg := range r.Packages {
		f, looked := old.Platforms[pkg.Platform]
		if !looked || f.Err != nil {
			continue
		}
		var there []provider.Document
		for _, layer := range f.Manifest.Documents {
			there = append(there, artifact.DocumentOf(layer, provider.SumsName(r.Address, r.Version)))
		}
		for _, d := range pkg.Documents {
			if d.Scope == provider.ScopePackage && !slices.ContainsFunc(there, func(t provider.Document) bool { return t.Name == d.Name }) {
				names = append(names, d.Name)
			}
		}
		for _, d := range missingKinds(there, r.Documents) {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// missingKinds gives the documents about the release of which nothing of the kind
// is there. Sums that we made are no evidence.
func missingKinds(there, documents []provider.Document) []provider.Document {
	var missing []provider.Document
	for _, d := range documents {
		same := func(t provider.Document) bool { return t.Kind == d.Kind && t.Scope == provider.ScopeRelease }
		if !d.Generated && !slices.ContainsFunc(there, same) {
			missing = append(missing, d)
		}
	}
	return missing
}
