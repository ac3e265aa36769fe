package publish

import (
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// facts contains the inputs of a plan that have been gathered so far.
type facts struct { //nolint:recvcheck // only sort modifies the facts
	runFacts
	tagFacts
}

// runFacts contains the facts that are valid for all rounds of a run.
type runFacts struct {
	address provider.Address
	version provider.Version
	// known contains the parts that were gathered.
	known map[part]bool
	// tag is the tag to write. stage reports whether tag is the pending tag. held is
	// the reason the release is staged, or nil if the options request this.
	tag   string
	stage bool
	held  *HeldError
	// denial is the denial of the version, or nil.
	denial *repository.DecisionRecord
	// tags contains the sorted tags of the repository. unlisted is the reason the tags
	// could not be listed, or nil. moved reports whether another run has moved the tag,
	// so that the list is out of date.
	tags     []string
	unlisted error
	moved    bool
	// release is the release as read from the source. documents contains the source's
	// documents that apply to all platforms.
	release   provider.Release
	documents []provider.Document
	// attestations maps the digests of files to the source's attestations for them.
	// unattested is the reason some attestations are unavailable, or nil. attached
	// contains the names of new attestations.
	attestations map[digest.Digest][]provider.Document
	unattested   error
	attached     []string
	// sent contains the zips that the repository is known to have. earlier contains the
	// indexes that were extended. apply records both for the next round.
	sent    map[zipKey]PackageResult
	earlier []ocispec.Descriptor
}

// tagFacts contains the facts that change if another run moves the tag.
type tagFacts struct {
	// from is the digest that the tag points to.
	from digest.Digest
	// stored is the index to which the release is added. See [baseOf]. released is the
	// index of the released version.
	stored, released repository.Inspection
	// foreign is not nil if the tag or the repository belongs to a different provider.
	foreign *repository.ProviderMismatchError
	// wanted contains the requested platforms if they are known before the release is
	// read. digests contains the digests of their zips if the plan compares these
	// digests.
	wanted  []provider.Platform
	digests map[provider.Platform]digest.Digest
	// kept contains stored packages with their documents. The packages are intact. For
	// each package, the source has the same zip or none. The content of documents about
	// the release is in memory.
	kept provider.Release
	// signedByRun reports whether the signer of this run made the signature of kept.
	signedByRun bool
	// intact contains the stored platforms that stay unchanged.
	intact []provider.Platform
	// left contains the remaining documents of damaged packages whose zips the source
	// has.
	left map[provider.Platform][]provider.Document
	// restored contains packages of the source that were not requested but replace
	// damaged packages.
	restored []provider.Package
	// lost contains the platforms of damaged packages that the source does not have.
	lost []provider.Platform
	// If the plan changes the release, unattestedPackages is nil. Otherwise, it
	// contains the packages that have no attestations.
	unattestedPackages []provider.Package
	// completed is the digest of the index to which complete has attached the
	// documents.
	completed digest.Digest
	// committed reports whether Commit has written the tag. now is the inspection of the
	// tag after the plan was applied.
	committed bool
	now       repository.Inspection
}

// sort classifies the stored platforms. It adds platforms that stay unchanged to
// f.intact, and the remaining documents of damaged packages to f.left. It returns the
// platforms of damaged or misnamed packages that the release does not contain. If
// rebuilds is set, only packages that the release does not contain stay unchanged.
func (f *facts) sort(repo repository.Reader, rebuilds bool) (damaged []provider.Platform) {
	f.intact = nil
	fresh := map[provider.Platform]digest.Digest{}
	for _, pkg := range f.release.Packages {
		fresh[pkg.Platform] = pkg.Digest
	}
	f.left = map[provider.Platform][]provider.Document{}
	for _, platform := range f.stored.Index.Platforms() {
		found, d := f.stored.Platforms[platform], fresh[platform]
		named := misnamed(found, f.address, f.version) == nil
		same := d == "" || found.Err == nil && d == found.Manifest.Zip.Digest
		switch {
		case same && found.IsIntact() && named && (!rebuilds || d == ""):
			f.intact = append(f.intact, platform)
			continue
		case d == "":
			damaged = append(damaged, platform)
		}
		if !same || !named {
			continue
		}
		for _, layer := range found.Manifest.Documents {
			document := repository.DocumentAt(repo, layer, "")
			if document.Scope == provider.ScopePackage && !slices.Contains(found.Missing, layer.Digest) {
				f.left[platform] = append(f.left[platform], document)
			}
		}
	}
	return damaged
}

// staged returns the facts for writing the pending tag instead of the version's tag,
// because the release is held.
func (f facts) staged(held *HeldError) facts {
	f.stage, f.held, f.tag = true, held, artifact.PendingTag(f.version)
	return f
}

// afterMove returns the facts that are still valid after another run has moved the tag.
func (f facts) afterMove() facts {
	next := facts{runFacts: f.runFacts}
	next.known, next.moved = maps.Clone(f.known), true
	for _, p := range []part{needIndex, needPlatforms, needOverlap, needAll, needSigned, needUnattested} {
		delete(next.known, p)
	}
	return next
}

// keepsZips reports whether the new release contains a zip of the stored release.
func (f facts) keepsZips() bool {
	return len(f.kept.Packages) > 0 || slices.ContainsFunc(f.release.Packages, func(p provider.Package) bool {
		return f.stored.At(p.Platform).Package(f.address, f.version).Digest == p.Digest
	})
}

// hasRelease reports whether the tag exists and belongs to the right provider.
func (f facts) hasRelease() bool { return f.stored.Exists() && f.foreign == nil }

// isComplete reports whether the requested platforms are intact, based on the facts
// that are known before the release is read.
func (f facts) isComplete() bool {
	for _, platform := range f.wanted {
		found := f.stored.At(platform)
		if !found.IsIntact() || misnamed(found, f.address, f.version) != nil {
			return false
		}
		if f.digests != nil && f.digests[platform] != found.Package(f.address, f.version).Digest {
			return false
		}
	}
	return len(f.wanted) > 0
}

// lacksSBOM reports whether an intact stored package has no SBOM.
func (f facts) lacksSBOM(platform provider.Platform) bool {
	found, looked := f.stored.Platforms[platform]
	return looked && found.IsIntact() && !slices.ContainsFunc(found.Manifest.Documents, func(layer ocispec.Descriptor) bool {
		return artifact.DocumentOf(layer, "").Kind == provider.KindSBOM
	})
}

// unchanged returns the requested platforms of an unchanged release, in sorted order.
func (f facts) unchanged() []provider.Platform {
	if f.known[needOverlap] {
		return provider.SortPlatforms(f.release.Platforms())
	}
	return f.wanted
}

// misnamed returns an error if a stored package has the name of a different package.
func misnamed(f repository.InspectedPackage, a provider.Address, v provider.Version) error {
	if f.Err != nil {
		return nil //nolint:nilerr // the name is unknown
	}
	return f.Package(a, v).CheckIdentity()
}
