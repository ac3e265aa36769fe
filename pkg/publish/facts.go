package publish

import (
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// facts are all that a plan depends on, as far as they were gathered.
type facts struct { //nolint:recvcheck // sort adds to the facts; the others only read them
	address provider.Address
	version provider.Version
	// known has the parts that were gathered.
	known map[part]bool

	// The following hold for all rounds of a run.

	// denial is why the version is denied; nil if it is not.
	denial *repository.DenialRecord
	// tags are those of the repository, sorted.
	tags []string
	// release is the source's, and documents are those about all platforms.
	release   provider.Release
	documents []provider.Document
	// sent are the zips that the repository has for certain, and earlier the indexes
	// that were added to: apply notes both for the next round.
	sent    map[zipKey]PackageResult
	earlier []ocispec.Descriptor
	// now is what the tag names when the plan was applied.
	now repository.Inspection

	// The following are about a tag that other runs may move.

	// tag is the one that is written, and from the digest that it points to.
	tag  string
	from digest.Digest
	// stored is the index that the release is added to, see [baseOf]. released is the index of
	// the released version when a release is staged.
	stored, released repository.Inspection
	// foreign says that the tag, or the repository, is another provider's.
	foreign *repository.ProviderMismatchError
	// wanted are the platforms that the source is known to have without its release,
	// and digests their zips where a plan compares them.
	wanted  []provider.Platform
	digests map[provider.Platform]digest.Digest
	// kept has the packages that are whole and that the source has the same or
	// not at all, with their documents. Those about the release are in memory.
	kept provider.Release
	// resigned tells that the signature of kept was made by the key that is to sign.
	resigned bool
	// intact are the stored platforms that stay as they are.
	intact []provider.Platform
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

// sort divides the stored platforms: those that stay as they are become f.intact, those that
// are damaged or misnamed and not in the release are returned, and of the others f.left gets
// the remaining documents.
func (f *facts) sort(repo repository.Reader) (damaged []provider.Platform) {
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
		case same && found.IsIntact() && named:
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

// again has what still holds when another run has moved the tag.
func (f facts) again() facts {
	known := maps.Clone(f.known)
	for _, p := range []part{needIndex, needPlatforms, needOverlap, needAll, needEvidence} {
		delete(known, p)
	}
	return facts{
		address: f.address, version: f.version, tag: f.tag, known: known, denial: f.denial, tags: f.tags,
		release: f.release, documents: f.documents, sent: f.sent, earlier: f.earlier,
	}
}

// holds reports whether the tag is there, and is not known to be of another provider.
func (f facts) holds() bool { return f.stored.Exists() && f.foreign == nil }

// isWhole reports whether the wanted platforms are there and whole, as far as that can be
// told without the release.
func (f facts) isWhole() bool {
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

// unchanged are the platforms that are there, sorted, when all that is wanted is there.
func (f facts) unchanged() []provider.Platform {
	if f.known[needOverlap] {
		return provider.SortPlatforms(f.release.Platforms())
	}
	return f.wanted
}

// misnamed says whose name a stored package goes by when it is another's.
func misnamed(f repository.InspectedPackage, a provider.Address, v provider.Version) error {
	if f.Err != nil {
		return nil //nolint:nilerr // it has no name that could be read
	}
	return f.Package(a, v).CheckIdentity()
}
