package publish

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// merge combines the release with the stored packages that the tag keeps.
func (p *Plan) merge(f facts, o policy) {
	byPlatform := func(a, b provider.Package) int { return a.Platform.Compare(b.Platform) }
	if !f.hasRelease() {
		p.release.Packages, p.Send = slices.SortedFunc(slices.Values(f.release.Packages), byPlatform), f.release.Platforms()
		return
	}
	// 1. Add the packages. Intact stored packages are kept unless they are replaced.
	conflicts := p.addPackages(f, o.rebuilds)
	// 2. Add one set of documents for all packages.
	conflicts = append(conflicts, p.addKept(f, o.force)...)
	p.release.Packages = withoutOwnSums(p.release)
	if o.signs {
		conflicts = append(conflicts, p.unverifiedPackages(f)...)
	}
	slices.SortFunc(p.release.Packages, byPlatform)
	if len(conflicts) > 0 {
		p.Status = Replaced
		if !o.force {
			p.Conflicts = conflicts
			*p = p.keeping(f)
		}
	}
	// 3. Set the publication date.
	p.release.Published = dated(p.Status, f.stored, f.release.Published)
}

// dated returns the date for the new index. If content is replaced, this is the
// source's date. If damaged content is restored, it is the stored date, because the
// digest of the index must not change. Otherwise, it is the stored date or, if no date
// is stored, the source's date.
func dated(s Status, stored repository.Inspection, fresh time.Time) time.Time {
	switch {
	case s == Replaced || stored.Dangling:
		return fresh
	case s == Repaired:
		return stored.Index.Published()
	}
	return cmp.Or(stored.Index.Published(), fresh)
}

// addPackages adds the source's packages to the plan. It returns conflicts with damaged
// stored packages.
func (p *Plan) addPackages(f facts, rebuilds bool) (conflicts []string) {
	p.release.Packages, p.zips = nil, map[digest.Digest]storedZip{}
	for _, found := range f.stored.Platforms {
		if zip := found.Manifest.Zip.Digest; found.Err == nil {
			known := storedZip{listed: true, rehashes: rebuilds, missing: f.stored.IsMissing(zip)}
			if !rebuilds {
				known.h1, known.h1Unpacked = found.Target.H1(), found.Target.H1Unpacked()
			}
			p.zips[zip] = known
		}
	}
	for _, pkg := range slices.Concat(f.release.Packages, f.restored) {
		if !slices.Contains(f.kept.Platforms(), pkg.Platform) {
			pkg.Documents = withNewNames(pkg.Documents, f.left[pkg.Platform])
			p.release.Packages = append(p.release.Packages, pkg)
			p.Send = append(p.Send, pkg.Platform)
		}
	}
	for _, pkg := range f.restored {
		if _, conflict := f.comparePackage(pkg); conflict != "" {
			conflicts = append(conflicts, conflict)
		}
	}
	if len(f.lost) > 0 {
		p.Dropped = append(p.Dropped, f.lost...)
		conflicts = append(conflicts, fmt.Sprintf("the package for %s is damaged in the repository, and the source does not have it; publish it together with the other packages", f.lost[0]))
	}
	if len(f.release.Protocols) == 0 {
		p.release.Protocols = f.stored.Index.Protocols()
	}
	return conflicts
}

// unverifiedPackages returns a conflict for each stored package that the source does
// not have and that the signer has not signed. Anyone with write access to the
// repository could have added these packages.
func (p *Plan) unverifiedPackages(f facts) (conflicts []string) {
	signed := slices.ContainsFunc(p.release.Documents, func(d provider.Document) bool {
		return d.Kind == provider.KindSignature && d.Digest != ""
	})
	if f.signedByRun || signed {
		return nil
	}
	for _, pkg := range f.kept.Packages {
		if !slices.Contains(f.release.Platforms(), pkg.Platform) {
			conflicts = append(conflicts, fmt.Sprintf("signing this release would also sign the stored package for %s, which this key has not signed; publish that package together with the other packages", pkg.Platform))
		}
	}
	return conflicts
}

// annotations returns the stored annotations, updated with the requested annotations. If
// all stored zips are replaced, only the provider's annotation is kept.
func annotations(f facts, wanted artifact.Options, s Status) artifact.Options {
	o := artifact.Options{SourceURL: wanted.SourceURL, Annotations: map[string]string{}, Generic: wanted.Generic}
	if f.foreign == nil {
		stored := f.stored.Index.Annotations
		o.Provider = stored[artifact.AnnotationProvider]
		if s != Replaced || f.keepsZips() {
			maps.Copy(o.Annotations, stored)
			o.SourceURL = cmp.Or(o.SourceURL, stored[ocispec.AnnotationSource])
		}
		if s == Replaced {
			delete(o.Annotations, ocispec.AnnotationCreated) // the date belongs to the replaced content
		}
	}
	maps.Copy(o.Annotations, wanted.Annotations)
	for _, stored := range f.stored.Platforms {
		o.Generic = o.Generic || stored.Manifest.Generic
	}
	return o
}
