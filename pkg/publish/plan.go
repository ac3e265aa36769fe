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

// Plan describes the changes that are required so that a tag contains a release. Equal
// facts result in identical plans.
type Plan struct { //nolint:recvcheck // merge modifies the plan
	Address provider.Address `json:"provider"`
	Version provider.Version `json:"version"`
	Status  Status           `json:"status,omitempty"`
	// Tag is the tag to write, or the tag that already has the release. For a staged
	// release, it is the pending tag or, if the version is already released, the tag of
	// the version.
	Tag string `json:"tag"`
	// From is the digest that the tag points to before the plan is executed. It is
	// empty if the tag does not exist.
	From digest.Digest `json:"from,omitempty"`
	// Released reports that a release to be staged is already released, regardless of
	// whether it was approved.
	Released bool `json:"released,omitempty"`
	// Send contains the platforms whose zips are read from the source. The repository
	// already has the other zips.
	Send []provider.Platform `json:"send,omitempty"`
	// Added contains the names of documents that are added to existing packages.
	Added []string `json:"added,omitempty"`
	// Dropped contains the platforms that Force removes from the tag, because the new SHA256SUMS
	// does not list them or because they are damaged.
	Dropped []provider.Platform `json:"dropped,omitempty"`
	// Conflicts contains the reasons why the plan does nothing. It is empty with Force.
	Conflicts []string `json:"conflicts,omitempty"`
	// Denial is the denial of the version, or nil. If set, the plan does nothing.
	Denial *repository.DecisionRecord `json:"denial,omitempty"`
	// AnnotationsKept reports that the annotations of the tag differ from the requested
	// annotations. This difference alone does not cause an update.
	AnnotationsKept bool `json:"annotations_kept,omitempty"`

	// needs is the part of the facts that the plan still needs.
	needs part
	// release is the release that the tag will contain: the source's release and other
	// stored platforms.
	release provider.Release
	// index contains the annotations of the new index.
	index artifact.Options
	// described contains the platforms of stored packages for which SBOMs are generated.
	described []provider.Platform
	// zips maps the digests of stored zips to their descriptions.
	zips map[digest.Digest]storedZip
}

type storedZip struct {
	// h1 is the hash in the index under the tag. It is as trustworthy as the source's
	// hash.
	h1 string
	// missing reports that the zip was found missing or damaged. If it is set, later
	// responses of the repository about the zip are ignored.
	missing bool
}

// policy contains the options that a plan depends on.
type policy struct {
	// force replaces conflicting content. overrules also overrides a denial.
	force, overrules bool
	// listed reports that a tag in the list of tags requires no further check.
	listed bool
	// verifiesAgain reports that the signature of an unchanged release is verified again.
	verifiesAgain bool
	// attaches reports that documents about all platforms are attached.
	attaches bool
	// attests reports that the attestations of new packages are published. attestsStored
	// reports that this includes unchanged packages that have none.
	attests, attestsStored bool
	// signs reports that a release without a signature will be signed.
	signs bool
	// describes reports that SBOMs are generated for stored packages.
	describes bool
	index     artifact.Options
}

// policy returns the policy for the plan.
func (j *job) policy() policy {
	o := j.options
	attests := !o.NoReferrers && o.Attestations != ""
	return policy{
		force: o.Force, overrules: o.Force && !o.SkipDenied, listed: o.Check == repository.DepthTags && j.can.Published && !o.Recheck && !o.Force,
		verifiesAgain: o.Verify != nil && o.Recheck, attaches: !o.DryRun && !o.NoReferrers, attests: attests && !o.DryRun,
		attestsStored: attests && j.can.Attestations != nil && o.depth() >= repository.DepthManifests,
		signs:         o.Signing.Signer != nil, describes: o.AutoSBOM && o.SBOM == nil, index: o.Index,
	}
}

// newPlan computes the plan for a tag without I/O. If the facts are insufficient, the
// plan specifies the part that it needs.
func newPlan(f facts, o policy) Plan {
	p := Plan{Address: f.address, Version: f.version, Tag: f.tag, From: f.from, release: f.release}
	listed := slices.IndexFunc(f.tags, func(tag string) bool { return o.listed && (tag == artifact.Tag(f.version) || tag == f.tag) })
	switch {
	case !f.known[needDenial]:
		return p.need(needDenial)
	case f.denial != nil && !o.overrules && !f.reconsidered:
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
	case f.hasRelease() && f.isComplete() && (!o.describes || !slices.ContainsFunc(f.wanted, f.lacksSBOM)):
		return p.unchanged(f, o)
	case !f.known[needRelease]:
		return p.need(needRelease)
	case f.hasRelease() && !f.known[needOverlap]:
		return p.need(needOverlap)
	case o.describes && !f.known[needReferrers]:
		return p.need(needReferrers)
	}
	p.Status, p.Conflicts = compare(f)
	p.Added = newDocuments(f.stored, f.release)
	if o.describes && len(p.Conflicts) == 0 {
		p.describe(f)
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

// compare compares the release with the tag. A platform is unchanged if its zip has the
// same digest. Documents that the tag does not have extend the platform.
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
	if status == Unchanged && len(newDocuments(f.stored, f.release)) > 0 {
		status = Extended
	}
	return status, conflicts
}

// comparePackage compares a package with the tag. If the package conflicts with the
// stored package, conflict is not empty.
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
