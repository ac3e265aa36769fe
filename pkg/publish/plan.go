package publish

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Plan is what has to be done so that a tag holds a release. It is data: equal facts give
// equal plans.
type Plan struct { //nolint:recvcheck // merging changes a plan in place
	Address provider.Address `json:"provider"`
	Version provider.Version `json:"version"`
	Status  Status           `json:"status,omitempty"`
	// Tag is the one that is written, or that needs no writing: the pending one of what
	// is staged, and the version's own where that is released already.
	Tag string `json:"tag"`
	// From is the digest that the tag points to before; empty if it is not there.
	From digest.Digest `json:"from,omitempty"`
	// Released reports that a release to be staged is already released, with or without
	// approval.
	Released bool `json:"released,omitempty"`
	// Send are the platforms whose packages come from the source. The others are
	// whole in the repository.
	Send []provider.Platform `json:"send,omitempty"`
	// Added are the names of documents that come to packages which were there.
	Added []string `json:"added,omitempty"`
	// Dropped are the platforms that the tag holds and that Force leaves out: the
	// new evidence does not list them, or they are damaged.
	Dropped []provider.Platform `json:"dropped,omitempty"`
	// Conflicts are the reasons why nothing is done; none when there are none, or by
	// Force.
	Conflicts []string `json:"conflicts,omitempty"`
	// Denial is why the version is denied, and so nothing is done; nil if it is not.
	Denial *repository.DenialRecord `json:"denial,omitempty"`
	// AnnotationsKept tells that other annotations were asked for than the tag
	// has, which alone is no reason to write it again.
	AnnotationsKept bool `json:"annotations_kept,omitempty"`

	// needs is a part of the facts without which there is no plan.
	needs part
	// release is what the tag will name: what the source has, and what the tag
	// holds beside it.
	release provider.Release
	// index has the annotations that the index will have.
	index artifact.Options
	// zips is what is known of zips that the tag names.
	zips map[digest.Digest]storedZip
}

// storedZip is what is known of a zip that a tag names.
type storedZip struct {
	// h1 is what the tag states, which is worth as much as what a source says.
	h1 string
	// missing tells that it was found missing or damaged, whatever the repository
	// answers when it is asked again.
	missing bool
}

// policy is what of the options decides about a plan.
type policy struct {
	// force replaces what conflicts, and overrules tells that it overrules a denial too.
	force, overrules bool
	// listed takes a tag at the word of the list of tags.
	listed bool
	// judges tells that what is unchanged is judged again.
	judges bool
	// refers tells that documents about all platforms are attached.
	refers bool
	// signs tells that a release without a signature will be signed.
	signs bool
	index artifact.Options
}

// policy is what a plan goes by.
func (q *question) policy() policy {
	o := q.options
	return policy{
		force: o.Force, overrules: o.Force && !o.SkipDenied, listed: o.Check == repository.DepthTags && q.can.Published && !o.Recheck && !o.Force,
		judges: o.Judge != nil && o.Recheck, refers: !o.DryRun && !o.NoReferrers, signs: o.Signing.Signer != nil, index: o.Index,
	}
}

// newPlan decides what becomes of a tag. It reads nothing and asks nobody. When the facts
// do not suffice, the plan says what it needs.
func newPlan(f facts, o policy) Plan {
	p := Plan{Address: f.address, Version: f.version, Tag: f.tag, From: f.from, release: f.release}
	listed := slices.IndexFunc(f.tags, func(tag string) bool { return o.listed && (tag == artifact.Tag(f.version) || tag == f.tag) })
	switch {
	case !f.known[needDenial]:
		return p.need(needDenial)
	case f.denial != nil && !o.overrules:
		p.Status, p.Denial = Denied, f.denial
		return p
	case listed >= 0:
		p.Status, p.Tag, p.Released = Unchanged, f.tags[listed], f.tags[listed] != f.tag
		return p
	case !f.known[needIndex]:
		return p.need(needIndex)
	case f.foreign != nil && !f.stored.Exists():
		p.Conflicts = []string{f.foreign.Error()}
		return p.keeping(f)
	case f.holds() && !f.known[needPlatforms]:
		return p.need(needPlatforms)
	case f.holds() && f.isWhole():
		return p.unchanged(f, o)
	case !f.known[needRelease]:
		return p.need(needRelease)
	case f.holds() && !f.known[needOverlap]:
		return p.need(needOverlap)
	}
	p.Status, p.Conflicts = compare(f)
	p.Added = late(f.stored, f.release)
	switch {
	case len(p.Conflicts) > 0 && !o.force:
		return p.keeping(f)
	case p.Status == Unchanged:
		return p.unchanged(f, o)
	case f.holds() && !f.known[needAll]:
		return p.need(needAll)
	case len(p.Conflicts) > 0:
		p.Status, p.Conflicts = Replaced, nil
	}
	if o.refers && !f.known[needReferrers] {
		return p.need(needReferrers)
	}
	p.merge(f, o)
	p.index = annotations(f, o.index, p.Status)
	return p
}

func (p Plan) need(needs part) Plan {
	p.needs = needs
	return p
}

// unchanged is the plan when everything is there.
func (p Plan) unchanged(f facts, o policy) Plan {
	p = p.restoring(f)
	p.Status = Unchanged
	for key, value := range o.index.Annotations {
		p.AnnotationsKept = p.AnnotationsKept || f.stored.Index.Annotations[key] != value
	}
	switch {
	case o.judges && !f.known[needRelease]:
		p.needs = needRelease
	case o.judges && !f.known[needEvidence]:
		p.needs = needEvidence
	case o.refers && !p.Released && !f.known[needReferrers]:
		p.needs = needReferrers
	}
	return p
}

// restoring is the plan in which the tag that is there keeps its index. A released
// version that is staged and only gets back what it lost needs no approval.
func (p Plan) restoring(f facts) Plan {
	p.Released = f.stored.Tag != f.tag
	return p.keeping(f)
}

// keeping is the plan about the tag that is there.
func (p Plan) keeping(f facts) Plan {
	p.Tag, p.From = f.stored.Tag, f.stored.Digest
	return p
}

// compare holds the release against the tag. Sameness is the map from platform
// to zip digest; documents that are not there yet extend it.
func compare(f facts) (status Status, conflicts []string) {
	switch {
	case !f.stored.Exists():
		return Created, nil
	case f.stored.Dangling:
		return Repaired, nil
	case f.foreign != nil:
		return Replaced, []string{f.foreign.Error()}
	}
	status = Unchanged
	for _, pkg := range f.release.Packages {
		found, conflict := comparePackage(f.stored, pkg)
		if conflict != "" {
			conflicts = append(conflicts, conflict)
		}
		if found == Extended || status == Unchanged {
			status = found
		}
	}
	if status == Unchanged && len(late(f.stored, f.release)) > 0 {
		status = Extended
	}
	return status, conflicts
}

// comparePackage says what one package means for the tag, or why it conflicts.
func comparePackage(stored repository.Inspection, pkg provider.Package) (found Status, conflict string) {
	if !stored.HasPlatform(pkg.Platform) {
		return Extended, ""
	}
	f := stored.At(pkg.Platform)
	if _, other := errors.AsType[*artifact.FormatError](f.Err); other {
		return Repaired, fmt.Sprintf("%s: %v", pkg.Platform, f.Err)
	}
	if err := misnamed(f, pkg.Address, pkg.Version); err != nil {
		return Repaired, fmt.Sprintf("%s: %v", pkg.Platform, err)
	}
	if conflict := f.ConflictWith(pkg.Digest); conflict != "" || !f.IsIntact() {
		return Repaired, conflict
	}
	return Unchanged, ""
}
