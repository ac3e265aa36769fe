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

// Plan describes the changes that are required to publish a release under a tag. The
// same facts always result in the same plan.
type Plan struct { //nolint:recvcheck // merge modifies the plan
	Address provider.Address `json:"provider"`
	Version provider.Version `json:"version"`
	Status  Status           `json:"status,omitempty"`
	// Tag is the tag to write, or the tag that already points to the release. For a
	// staged release, it is the pending tag or, if the version is already released, the
	// tag of the version.
	Tag string `json:"tag"`
	// From is the digest that the tag points to before the plan is executed. It is
	// empty if the tag does not exist.
	From digest.Digest `json:"from,omitempty"`
	// Released reports whether the version to be staged already exists under its version
	// tag, even if it was never approved.
	Released bool `json:"released,omitempty"`
	// Send contains the platforms whose zips might have to be sent. All other zips are
	// known to be in the repository.
	Send []provider.Platform `json:"send,omitempty"`
	// Added contains the names of documents that are added to existing packages.
	Added []string `json:"added,omitempty"`
	// Dropped contains the platforms that Force removes from the release, because the
	// new SHA256SUMS does not list them or because they are damaged.
	Dropped []provider.Platform `json:"dropped,omitempty"`
	// Conflicts contains the reasons the plan does nothing. It is empty if Force is set.
	Conflicts []string `json:"conflicts,omitempty"`
	// Denial is the denial of the version, or nil. If set, the plan does nothing.
	Denial *repository.DecisionRecord `json:"denial,omitempty"`
	// AnnotationsKept reports whether the tag keeps annotations that differ from the
	// requested annotations. If only annotations differ, the index is not updated.
	AnnotationsKept bool `json:"annotations_kept,omitempty"`

	// needs is the part of the facts that the plan still needs.
	needs part
	// release is the release that the tag will point to. It consists of the source's
	// release and the remaining stored platforms.
	release provider.Release
	// index contains the annotations of the new index.
	index artifact.Options
	// describes reports whether SBOMs are generated for packages that have none.
	// described contains the platforms of stored packages for which SBOMs are generated.
	describes bool
	described []provider.Platform
	// zips maps the digests of stored zips to their descriptions.
	zips map[digest.Digest]storedZip
}

type storedZip struct {
	// listed reports whether the index that the tag points to lists the zip.
	listed bool
	// h1 and h1Unpacked are the hashes in the index that the tag points to. They are as
	// trustworthy as the source's hash.
	h1, h1Unpacked string
	// rehashes reports whether the zip is read to compute its hashes, because the
	// annotations might be wrong.
	rehashes bool
	// missing reports whether the zip is missing or damaged. If set, later responses
	// from the repository about the zip are ignored.
	missing bool
}

// policy contains the options that a plan depends on.
type policy struct {
	// force replaces conflicting content. overrules also overrides a denial.
	force, overrules bool
	// rebuilds reports whether the documents and annotations of stored packages are
	// replaced with the source's, even if the zips are equal.
	rebuilds bool
	// listed reports whether a version with a listed tag is treated as unchanged.
	listed bool
	// comparesOrigin reports whether documents are compared even if the zips are equal.
	// The source might have added a signature.
	comparesOrigin bool
	// verifiesAgain reports whether the signature of an unchanged release is verified
	// again.
	verifiesAgain bool
	// attaches reports whether documents about all platforms are attached.
	attaches bool
	// attests reports whether the attestations of new packages are published.
	// attestsStored reports whether this includes unchanged packages without
	// attestations.
	attests, attestsStored bool
	// signs reports whether a release without a signature will be signed.
	signs bool
	// describes reports whether SBOMs are generated for stored packages.
	describes bool
	index     artifact.Options
}

// policy derives the policy from the job's options.
func (j *job) policy() policy {
	o := j.options
	_, generic := j.cache.generic.Load(j.repo.Capabilities().Registry)
	o.Index.Generic = o.Index.Generic || generic
	attests := !o.NoReferrers && o.Attestations != ""
	return policy{
		force: o.Force, comparesOrigin: o.AgainstOrigin && (o.Verify != nil || o.Force), rebuilds: o.Force && o.AgainstOrigin, overrules: o.Force && !o.SkipDenied, listed: o.Check == repository.DepthTags && j.can.Published && !o.AgainstOrigin && !o.Force,
		verifiesAgain: o.Verify != nil && o.AgainstOrigin, attaches: !o.DryRun && !o.NoReferrers, attests: attests && !o.DryRun,
		attestsStored: attests && j.can.Attestations != nil && o.depth() >= repository.DepthManifests,
		signs:         o.Signing.Signer != nil, describes: o.AutoSBOM && o.SBOM == nil, index: o.Index,
	}
}

// newPlan computes the plan for a tag without I/O. If the facts are insufficient, the
// plan specifies the part that it needs.
func newPlan(f facts, o policy) Plan {
	p := Plan{Address: f.address, Version: f.version, Tag: f.tag, From: f.from, release: f.release}
	p.describes = o.describes && !containsSBOM(f.documents)
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
	case f.hasRelease() && !f.known[needPlatforms]:
		return p.need(needPlatforms)
	case f.hasRelease() && f.isComplete() && !o.comparesOrigin && (!p.describes || !slices.ContainsFunc(f.wanted, f.lacksSBOM)):
		return p.unchanged(f, o)
	case !f.known[needRelease]:
		return p.need(needRelease)
	case f.hasRelease() && !f.known[needOverlap]:
		return p.need(needOverlap)
	case p.describes && !f.known[needReferrers]:
		return p.need(needReferrers)
	}
	p.Status, p.Conflicts = compare(f)
	p.Added = newDocuments(f.stored, f.release)
	if p.describes && len(p.Conflicts) == 0 {
		p.describe(f)
	}
	if o.rebuilds && f.hasRelease() && p.Status != Created && p.Status != Repaired {
		p.Status = Replaced
	}
	switch {
	case len(p.Conflicts) > 0 && !o.force:
		return p.keeping(f)
	case p.Status == Unchanged:
		return p.unchanged(f, o)
	case f.hasRelease() && !f.known[needAll]:
		return p.need(needAll)
	case len(p.Conflicts) > 0:
		p.Status, p.Conflicts = Replaced, nil
	}
	switch {
	case o.attests && !f.known[needAttestations]:
		return p.need(needAttestations)
	case o.attaches && !f.known[needReferrers]:
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

// unchanged returns the plan for a release that the repository already contains.
func (p Plan) unchanged(f facts, o policy) Plan {
	p = p.restoring(f)
	p.Status = Unchanged
	for key, value := range o.index.Annotations {
		p.AnnotationsKept = p.AnnotationsKept || f.stored.Index.Annotations[key] != value
	}
	switch {
	case o.verifiesAgain && !f.known[needRelease]:
		p.needs = needRelease
	case o.verifiesAgain && !f.known[needSigned]:
		p.needs = needSigned
	case o.attaches && !p.Released && !f.known[needReferrers]:
		p.needs = needReferrers
	case o.attestsStored && !f.known[needSigned]:
		p.needs = needSigned
	case o.attestsStored && !f.known[needUnattested]:
		p.needs = needUnattested
	case len(f.unattestedPackages) > 0 && !f.known[needRelease]:
		p.needs = needRelease
	case len(f.unattestedPackages) > 0 && !f.known[needAttestations]:
		p.needs = needAttestations
	}
	return p
}

// restoring returns the plan that keeps the index of the stored tag. If a released
// version is staged and only damaged content is restored, no approval is required.
func (p Plan) restoring(f facts) Plan {
	p.Released = f.stored.Tag != f.tag
	return p.keeping(f)
}

// keeping returns a copy of the plan that keeps the stored tag.
func (p Plan) keeping(f facts) Plan {
	p.Tag, p.From = f.stored.Tag, f.stored.Digest
	return p
}

// compare returns the status of the plan and the conflicts between the release and the
// tagged release. A platform is unchanged if its zip has the same digest. The release
// is extended if platforms or documents are missing from the tagged release.
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
		found, conflict := f.comparePackage(pkg)
		if conflict != "" {
			conflicts = append(conflicts, conflict)
		}
		if found == Extended || status == Unchanged {
			status = found
		}
	}
	if status == Unchanged && len(newDocuments(f.stored, f.release)) > 0 {
		status = Extended
	}
	return status, conflicts
}

// comparePackage returns the status that a package requires. If the package conflicts
// with the stored package, conflict is the reason.
func (f facts) comparePackage(pkg provider.Package) (found Status, conflict string) {
	if !f.stored.HasPlatform(pkg.Platform) {
		return Extended, ""
	}
	stored := f.stored.At(pkg.Platform)
	if _, other := errors.AsType[*artifact.FormatError](stored.Err); other {
		return Repaired, fmt.Sprintf("%s: %v", pkg.Platform, stored.Err)
	}
	if err := misnamed(stored, f.address, f.version); err != nil {
		return Repaired, fmt.Sprintf("%s: %v", pkg.Platform, err)
	}
	if conflict := stored.ConflictWith(pkg.Digest); conflict != "" || !stored.IsIntact() {
		return Repaired, conflict
	}
	return Unchanged, ""
}
