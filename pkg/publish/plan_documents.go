package publish

import (
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// addKept adds the stored packages to the release. SHA256SUMS has to list each
// of them unchanged; by force, those that a publisher's does not list are
// dropped, and one that we made is made for all of them.
func (p *Plan) addKept(f facts, force bool) (conflicts []string) {
	r, kept := &p.release, f.kept
	keptPackages := slices.Clone(kept.Packages)
	for i, k := range keptPackages {
		// The source may have documents for it that the repository has not.
		for _, fresh := range f.release.Packages {
			if fresh.Platform == k.Platform {
				keptPackages[i].Documents = withMore(k.Documents, fresh.Documents)
			}
		}
	}
	listed, has := r.Document(provider.KindSums)
	if !has || listed.Generated || !overrides(*r, kept) {
		r.Packages = slices.Concat(r.Packages, keptPackages)
		conflict := takeStoredDocuments(r, kept, f.resigned)
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
		more = notSums(more)
	}
	r.Documents = slices.Concat(r.Documents, more)
	for i, pkg := range keptPackages {
		if wrong[i] == nil {
			r.Packages = append(r.Packages, pkg)
			continue
		}
		conflicts = append(conflicts, fmt.Sprintf("the new %s does not fit %s, which is stored: %v", listed.Name, pkg.Platform, wrong[i]))
		p.Dropped = append(p.Dropped, pkg.Platform)
	}
	return conflicts
}

// takeStoredDocuments is for a source without a publisher's sums: what is stored
// stays if it lists all packages, and else sums are made for all of them. A
// signature is not given up for that, unless it may be made anew: the conflict says
// why.
func takeStoredDocuments(r *provider.Release, kept provider.Release, resigned bool) (conflict string) {
	_, generated := r.Document(provider.KindSums)
	stored, has := kept.Document(provider.KindSums)
	_, signed := kept.Document(provider.KindSignature)
	_, bundled := kept.Document(provider.KindSigstore) // nobody here makes another one
	signed = signed && !resigned || bundled
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
			return fmt.Sprintf("the stored %s does not fit %s, and the source has none to replace it: %v", stored.Name, pkg.Platform, wrong[i])
		}
		r.Documents = generatedSums(*r)
		return ""
	}
	r.Documents = slices.Concat(kept.Documents, notSums(missingKinds(kept.Documents, r.Documents)))
	return ""
}

// overrides reports whether the source's sums take the place of those that are
// there: when they list a platform that is new, or bring a signature where there
// is none. Else what is there stays, with its signature.
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

// notSums leaves out sums and their signatures, bundles too, which belong together.
func notSums(documents []provider.Document) []provider.Document {
	return slices.DeleteFunc(documents, func(d provider.Document) bool {
		return d.Kind == provider.KindSums || d.Kind == provider.KindSignature || d.Kind == provider.KindSigstore
	})
}

func generatedSums(r provider.Release) []provider.Document {
	return []provider.Document{source.GeneratedSums(r)}
}

// withMore adds the documents that are not there by their names.
func withMore(documents, more []provider.Document) []provider.Document {
	all := slices.Clone(documents)
	for _, d := range more {
		if !slices.ContainsFunc(all, func(there provider.Document) bool { return there.Name == d.Name }) {
			all = append(all, d)
		}
	}
	return all
}

// withoutOwnSums returns the packages without the sums that each had for itself
// alone, as other publishers write them, when one document is for all of them.
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

// late returns the names of documents that the source has and the tag has not,
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

// missingKinds returns the documents about the release of which nothing of the kind
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
