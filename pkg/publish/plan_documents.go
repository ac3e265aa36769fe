package publish

import (
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// addKept adds the stored packages to the release. It returns a conflict for each
// package that SHA256SUMS does not list with the same checksum. If force is set,
// packages that do not match the source's SHA256SUMS are dropped. If SHA256SUMS was
// generated, addKept generates it again for all packages.
func (p *Plan) addKept(f facts, force bool) (conflicts []string) {
	r, kept := &p.release, f.kept
	keptPackages := slices.Clone(kept.Packages)
	for i, k := range keptPackages {
		// The source can have documents that the repository doesn't have.
		for _, fresh := range f.release.Packages {
			if fresh.Platform == k.Platform {
				keptPackages[i].Documents = withNewNames(k.Documents, fresh.Documents)
			}
		}
	}
	listed, has := r.Document(provider.KindSums)
	if !has || listed.Generated || !overrides(*r, kept) {
		r.Packages = slices.Concat(r.Packages, keptPackages)
		conflict := takeStoredDocuments(r, kept, f.signedByRun)
		if conflict == "" {
			return nil
		}
		if has && force {
			r.Documents = generatedSums(*r)
		}
		return []string{conflict}
	}
	wrong, err := source.CheckSums(listed, keptPackages...)
	if err != nil {
		return []string{err.Error()}
	}
	more := missingKinds(r.Documents, kept.Documents)
	if stored, _ := kept.Document(provider.KindSums); stored.Digest != listed.Digest {
		more = withoutSums(more)
	}
	r.Documents = slices.Concat(r.Documents, more)
	for i, pkg := range keptPackages {
		if wrong[i] == nil {
			r.Packages = append(r.Packages, pkg)
			continue
		}
		conflicts = append(conflicts, fmt.Sprintf("the new %s does not match the stored package for %s: %v", listed.Name, pkg.Platform, wrong[i]))
		p.Dropped = append(p.Dropped, pkg.Platform)
	}
	return conflicts
}

// takeStoredDocuments is used if the source has no SHA256SUMS that replaces the stored
// SHA256SUMS. It keeps the stored file if that file lists all packages. Otherwise, it
// generates a new SHA256SUMS for all packages. If the new file would invalidate a
// signature that can't be recreated, it returns a conflict.
func takeStoredDocuments(r *provider.Release, kept provider.Release, signedByRun bool) (conflict string) {
	_, generated := r.Document(provider.KindSums)
	stored, has := kept.Document(provider.KindSums)
	_, signed := kept.Document(provider.KindSignature)
	_, bundled := kept.Document(provider.KindSigstore) // a Sigstore bundle can't be recreated
	signed = signed && !signedByRun || bundled
	if !has {
		if generated {
			r.Documents = generatedSums(*r)
		}
		return ""
	}
	wrong, err := source.CheckSums(stored, r.Packages...)
	if err != nil {
		return "the stored " + err.Error()
	}
	for i, pkg := range r.Packages {
		switch {
		case wrong[i] == nil:
			continue
		case signed || !generated:
			return fmt.Sprintf("the stored %s does not match the package for %s, and the source has no replacement: %v", stored.Name, pkg.Platform, wrong[i])
		}
		r.Documents = generatedSums(*r)
		return ""
	}
	r.Documents = slices.Concat(kept.Documents, withoutSums(missingKinds(kept.Documents, r.Documents)))
	return ""
}

// overrides reports whether the source's SHA256SUMS replaces the stored SHA256SUMS. It
// does so only if no SHA256SUMS is stored, if the two files are equal, if packages are
// added or restored, or if the source's signature is added to an unsigned release.
// Otherwise, the stored SHA256SUMS and its signature are kept.
func overrides(r, kept provider.Release) bool {
	stored, has := kept.Document(provider.KindSums)
	if !has || len(r.Packages) > 0 {
		return true
	}
	fresh, _ := r.Document(provider.KindSums)
	_, signs := r.Document(provider.KindSignature)
	_, signed := kept.Document(provider.KindSignature)
	return signs && !signed || fresh.Digest == stored.Digest
}

// withoutSums returns the documents without SHA256SUMS, its signatures, and Sigstore
// bundles. These documents belong together.
func withoutSums(documents []provider.Document) []provider.Document {
	return slices.DeleteFunc(documents, func(d provider.Document) bool {
		return d.Kind == provider.KindSums || d.Kind == provider.KindSignature || d.Kind == provider.KindSigstore
	})
}

func generatedSums(r provider.Release) []provider.Document {
	return []provider.Document{source.GeneratedSums(r)}
}

// withNewNames returns documents, and the elements of more that have new names.
func withNewNames(documents, more []provider.Document) []provider.Document {
	all := slices.Clone(documents)
	for _, d := range more {
		if !slices.ContainsFunc(all, func(existing provider.Document) bool { return existing.Name == d.Name }) {
			all = append(all, d)
		}
	}
	return all
}

// withoutOwnSums returns the packages of a release. If the release has a SHA256SUMS for
// all packages, withoutOwnSums removes the SHA256SUMS of individual packages. Some other
// tools write one for each package.
func withoutOwnSums(r provider.Release) []provider.Package {
	if _, shared := r.Document(provider.KindSums); !shared {
		return r.Packages
	}
	packages := slices.Clone(r.Packages)
	for i, pkg := range packages {
		packages[i].Documents = slices.DeleteFunc(slices.Clone(pkg.Documents), func(d provider.Document) bool {
			return d.Scope == provider.ScopeRelease
		})
	}
	return packages
}

// newDocuments returns the sorted names of the source's documents that are missing from
// the tagged release because they were created after the zips. Existing documents are
// kept even if the source has different content, such as a regenerated SBOM. A
// signature is added only together with the SHA256SUMS that it signs.
func newDocuments(old repository.Inspection, r provider.Release) []string {
	var names []string
	for _, pkg := range r.Packages {
		f, looked := old.Platforms[pkg.Platform]
		if !looked || f.Err != nil {
			continue
		}
		var existing []provider.Document
		for _, layer := range f.Manifest.Documents {
			existing = append(existing, artifact.DocumentOf(layer, provider.SumsName(r.Address, r.Version)))
		}
		for _, d := range pkg.Documents {
			if d.Scope == provider.ScopePackage && !slices.ContainsFunc(existing, func(t provider.Document) bool { return t.Name == d.Name }) {
				names = append(names, d.Name)
			}
		}
		for _, d := range missingKinds(existing, r.Documents) {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// missingKinds returns the documents about the release whose kind is not among the
// existing documents. It ignores a generated SHA256SUMS.
func missingKinds(existing, documents []provider.Document) []provider.Document {
	var missing []provider.Document
	for _, d := range documents {
		same := func(t provider.Document) bool { return t.Kind == d.Kind && t.Scope == provider.ScopeRelease }
		if !d.Generated && !slices.ContainsFunc(existing, same) {
			missing = append(missing, d)
		}
	}
	return missing
}

// describe adds SBOMs for stored packages to the plan, unless the source has them.
func (p *Plan) describe(f facts) {
	for _, pkg := range f.release.Packages {
		if f.lacksSBOM(pkg.Platform) && !hasSBOM(pkg) {
			p.described = append(p.described, pkg.Platform)
			p.Added = append(p.Added, sbomName(pkg, artifact.MediaTypeCycloneDX))
		}
	}
	if len(p.described) > 0 && p.Status == Unchanged {
		p.Status = Extended
	}
	slices.Sort(p.Added)
}
