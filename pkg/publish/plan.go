package publish

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// held is what the tag holds, as far as a plan has to know it.
type held struct {
	repository.Inspection
	// foreign says why it is not the provider's; nil when it is.
	foreign *repository.ForeignError
	// kept has the packages that are whole and that the source has the same or
	// not at all, with their documents. Those about the release are in memory.
	kept provider.Release
	// signs tells that a release without a signature will be signed, resigned that
	// the signature of kept was made by the same key.
	signs, resigned bool
	// left are the documents that the repository still has of packages of which
	// it has lost something else, and whose zip is the source's.
	left map[provider.Platform][]provider.Document
	// restored are packages, as the source has them, of which the repository has
	// lost something and which were not asked for.
	restored []provider.Package
	// lost are the platforms of which the repository has lost something and which
	// the source does not have.
	lost []provider.Platform
}

// plan is what has to be done so that the tag holds a release.
type plan struct {
	status Status
	// release is what the tag will name: what the source has, and what the tag
	// holds beside it.
	release provider.Release
	// send are the platforms whose packages come from the source. The others are
	// whole in the repository.
	send []provider.Platform
	// stored is what is known of zips that the tag names.
	stored map[digest.Digest]storedZip
	// added are the names of documents that come to packages which are there.
	added []string
	// dropped are stored platforms that are left out by force.
	dropped []provider.Platform
	// conflicts are the reasons why nothing is done; nil when there are none, or
	// by force.
	conflicts []string
}

// storedZip is what is known of a zip that a tag names.
type storedZip struct {
	// h1 is what the tag states, which is worth as much as what a source says.
	h1 string
	// missing tells that it was found missing or damaged, whatever the repository
	// answers when it is asked again.
	missing bool
}

// newPlan compares what is held with a release. It reads nothing and asks nobody:
// equal input gives equal plans.
func newPlan(old held, r provider.Release, force bool) plan {
	// 1. What the release means for the tag.
	p := plan{release: r}
	p.status, p.conflicts = compare(old, r)
	p.added = late(old.Inspection, r)
	switch {
	case len(p.conflicts) > 0 && !force:
		return p
	case len(p.conflicts) > 0:
		p.status, p.conflicts = Replaced, nil
	case p.status == Unchanged:
		return p
	}
	if !old.Exists() || old.foreign != nil {
		p.release.Packages, p.send = slices.Clone(r.Packages), r.Platforms()
		return p
	}
	// 2. The packages: what is there stays, if it is whole and not replaced.
	conflicts := p.addPackages(old, r)
	// 3. One set of documents is for all of them.
	conflicts = append(conflicts, p.addKept(old, r.Packages, force)...)
	p.release.Packages = withoutOwnSums(p.release)
	conflicts = append(conflicts, p.unvouched(old, r)...)
	slices.SortFunc(p.release.Packages, func(a, b provider.Package) int { return a.Platform.Compare(b.Platform) })
	if len(conflicts) > 0 {
		p.status = Replaced
		if !force {
			p.conflicts = conflicts
		}
	}
	// 4. The date of what stays is as it was.
	p.release.Published = dated(p.status, old.Inspection, r.Published)
	return p
}

// dated gives the date of what a tag will name, which is the one that it has, or else
// the source's. What is healed gets back the digest that it had, so also no date.
func dated(s Status, old repository.Inspection, fresh time.Time) time.Time {
	switch {
	case s == Replaced || old.Lost:
		return fresh
	case s == Healed:
		return old.Index.Published()
	}
	return cmp.Or(old.Index.Published(), fresh)
}

// compare holds the release against the tag. Sameness is the map from platform
// to zip digest; documents that are not there yet extend it.
func compare(old held, r provider.Release) (status Status, conflicts []string) {
	switch {
	case !old.Exists():
		return Created, nil
	case old.Lost:
		return Healed, nil
	case old.foreign != nil:
		return Replaced, []string{old.foreign.Error()}
	}
	status = Unchanged
	for _, pkg := range r.Packages {
		found, conflict := comparePackage(old.Inspection, pkg)
		if conflict != "" {
			conflicts = append(conflicts, conflict)
		}
		if found == Extended || status == Unchanged {
			status = found
		}
	}
	if status == Unchanged && len(late(old.Inspection, r)) > 0 {
		status = Extended
	}
	return status, conflicts
}

// comparePackage says what one package means for the tag, or why it conflicts.
func comparePackage(old repository.Inspection, pkg provider.Package) (found Status, conflict string) {
	t, there := old.Index.Target(pkg.Platform)
	if !there {
		return Extended, ""
	}
	f := old.Platforms[pkg.Platform]
	if isFormat(f.Err) {
		return Healed, fmt.Sprintf("%s: %v", pkg.Platform, f.Err)
	}
	if err := misnamed(f, pkg.Address, pkg.Version); err != nil {
		return Healed, fmt.Sprintf("%s: %v", pkg.Platform, err)
	}
	was, known := f.Manifest.Zip.Digest, f.Err == nil
	if !known {
		was, known = t.Digest()
	}
	if known && was != pkg.Digest {
		return Healed, fmt.Sprintf("%s is there with the zip %s, the source has %s", pkg.Platform, was, pkg.Digest)
	}
	if !f.Whole() {
		return Healed, ""
	}
	return Unchanged, ""
}

// addPackages puts the packages that come from the source into the plan, and says
// what contradicts those of which something is lost.
func (p *plan) addPackages(old held, r provider.Release) (conflicts []string) {
	p.release.Packages, p.stored = nil, map[digest.Digest]storedZip{}
	for _, f := range old.Platforms {
		if zip := f.Manifest.Zip.Digest; f.Err == nil {
			p.stored[zip] = storedZip{h1: f.Target.H1(), missing: old.Misses(zip)}
		}
	}
	for _, pkg := range slices.Concat(r.Packages, old.restored) {
		if !slices.Contains(old.kept.Platforms(), pkg.Platform) {
			pkg.Documents = withMore(pkg.Documents, old.left[pkg.Platform])
			p.release.Packages = append(p.release.Packages, pkg)
			p.send = append(p.send, pkg.Platform)
		}
	}
	for _, pkg := range old.restored {
		if _, conflict := comparePackage(old.Inspection, pkg); conflict != "" {
			conflicts = append(conflicts, conflict)
		}
	}
	if len(old.lost) > 0 {
		p.dropped = append(p.dropped, old.lost...)
		conflicts = append(conflicts, fmt.Sprintf("the repository has lost part of the package for %s, and the source does not have it: publish it together with these", old.lost[0]))
	}
	if len(r.Protocols) == 0 {
		p.release.Protocols = old.Index.Protocols()
	}
	return conflicts
}

func isFormat(err error) bool {
	_, is := errors.AsType[*artifact.FormatError](err)
	return is
}
