// Package oci implements the source of releases in OCI repositories, both in registries
// and in image layouts. Use it to pull releases, or to publish them to another
// repository.
package oci

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// maxDocuments is the maximum number of concurrent requests for documents.
const maxDocuments = 8

// Source provides the releases in OCI repositories, one repository per provider. It
// reads every artifact that OpenTofu reads, but is stricter. If SHA256SUMS does not
// list a zip, Release returns an error.
type Source struct {
	open    func(provider.Address) (repository.Reader, error)
	aliases provider.Aliases
	tags    tags

	// listings caches the tags of each repository.
	listings repository.TagCache

	mu sync.Mutex
	// repos contains the open repositories, which reuse connections and tokens.
	repos map[provider.Address]repository.Reader
}

var _ provider.Capable = (*Source)(nil)

// New returns a source that reads the repositories that open returns. If a release is
// annotated with a different address, and no alias allows this address, the error is a
// *[repository.ProviderMismatchError]. Denied versions are not listed. If the release
// of a denied version is requested, the error is a *[repository.DeniedError]. The tags
// of each repository are listed only once, so use a source for a single run.
func New(open func(provider.Address) (repository.Reader, error), aliases ...provider.Alias) *Source {
	return &Source{open: open, aliases: slices.Clone(aliases), tags: released, repos: map[provider.Address]repository.Reader{}}
}

// NewPending returns a source of the pending releases in the repositories that open
// returns. OpenTofu ignores the tags of pending releases. Use the source to inspect
// pending releases, but never to install them.
func NewPending(open func(provider.Address) (repository.Reader, error), aliases ...provider.Alias) *Source {
	s := New(open, aliases...)
	s.tags = pending
	return s
}

// NewAt returns a source whose only release is v. The release is read from a tag or
// digest instead of the version's tag. If v is denied, the error is the same as for
// [New].
func NewAt(open func(provider.Address) (repository.Reader, error), reference string, v provider.Version) *Source {
	s := New(open)
	s.tags.of = func(provider.Version) string { return reference }
	s.tags.versions = func(artifact.Tags) []provider.Version { return []provider.Version{v} }
	return s
}

// tags contains functions that return a version's tag, return the versions in a tag
// list, and check whether a version can be read.
type tags struct {
	of       func(provider.Version) string
	versions func(artifact.Tags) []provider.Version
	admit    func(context.Context, repository.Reader, provider.Version) error
}

var (
	released = tags{artifact.Tag, artifact.Tags.Released, repository.CheckDenied}
	pending  = tags{artifact.PendingTag, artifact.Tags.Undecided, func(context.Context, repository.Reader, provider.Version) error { return nil }}
)

// ociBlob locates a zip in an OCI repository.
type ociBlob struct {
	repo repository.Reader
	blob ocispec.Descriptor
	// manifest is the digest of the manifest that contains the zip.
	manifest digest.Digest
}

// ociIndex locates the index of a release in an OCI repository.
type ociIndex struct {
	repo  repository.Reader
	index digest.Digest
	// stored is the address in the index, or the zero value.
	stored provider.Address
	// decided reports whether the decisions about the release have already been read
	// into decisions.
	decided   bool
	decisions []repository.DecisionRecord
}

// Capabilities reports that releases are complete and don't change. It returns
// functions that list denied versions, read the referrers of releases, and check
// whether zips exist.
func (s *Source) Capabilities() provider.Capabilities {
	return provider.Capabilities{Published: true, Denied: s.denied, Documents: s.documents, Attestations: Attestations, Stat: s.stat}
}

func (s *Source) repository(a provider.Address) (repository.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if repo, known := s.repos[a]; known {
		return repo, nil
	}
	repo, err := s.open(a)
	if err != nil {
		return nil, err
	}
	repo = s.listings.Reader(repo)
	if a.IsModule() {
		repo = repository.ModuleReader(repo)
	}
	s.repos[a] = repo
	return repo, nil
}

// Versions returns the versions that have a tag and are not denied. If OpenTofu would
// interpret a missing repository as a missing provider, Versions returns
// [provider.ErrProviderNotFound]. See [repository.IsUnknownProvider]. For any other
// failure, it returns the error from the repository.
func (s *Source) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	return s.list(ctx, a, s.tags.versions)
}

// denied returns the denied versions. It returns the same errors as Versions.
func (s *Source) denied(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	return s.list(ctx, a, artifact.Tags.Denied)
}

func (s *Source) list(ctx context.Context, a provider.Address, versions func(artifact.Tags) []provider.Version) ([]provider.Version, error) {
	repo, err := s.repository(a)
	if err != nil {
		return nil, err
	}
	tags, err := repo.Tags(ctx)
	if repository.IsUnknownProvider(err) {
		return nil, unknownProvider(a, err)
	}
	if err != nil {
		return nil, err
	}
	return versions(tags), nil
}

// Release reads the index of a version, the manifests of the platforms, and their
// documents. If the index has several entries for a requested platform, the error is an
// *[artifact.FormatError]. Other platforms with several entries are omitted.
func (s *Source) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	r, err := s.release(ctx, a, v, only)
	if err != nil {
		return provider.Release{}, &provider.Error{Op: "reading", Address: a, Version: v, Err: err}
	}
	return r, nil
}

func (s *Source) release(ctx context.Context, a provider.Address, v provider.Version, only []provider.Platform) (provider.Release, error) {
	repo, err := s.repository(a)
	if err != nil {
		return provider.Release{}, err
	}
	// 1. Read the index that the version's tag points to.
	if err := s.tags.admit(ctx, repo, v); err != nil {
		return provider.Release{}, err
	}
	found, err := repository.Inspect(ctx, repo, s.tags.of(v), repository.DepthIndex)
	if err != nil {
		return provider.Release{}, err
	}
	if err := s.checkUsable(ctx, repo, a, v, found); err != nil {
		return provider.Release{}, err
	}
	if err := found.CheckProvider(a, s.aliases...); err != nil {
		return provider.Release{}, err
	}
	if len(only) == 0 {
		only = found.Index.Single()
	}
	platforms, err := provider.ChoosePlatforms(a, v, found.Index.Platforms(), only)
	if err != nil {
		return provider.Release{}, err
	}
	// 2. Read one manifest per platform.
	if found, err = found.InspectMore(ctx, repo, repository.DepthManifests, platforms...); err != nil {
		return provider.Release{}, err
	}
	// 3. Check the packages against their documents.
	return FromInspection(ctx, repo, found, a, v, platforms)
}

// Open opens the zip's layer through a verifying reader.
func (s *Source) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	located, ok := p.Locator.(ociBlob)
	if !ok {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, provider.ErrWrongSource)
	}
	// The content is verified against the digest of the package, not the digest of the
	// layer.
	blob := located.blob
	blob.Digest, blob.Size = p.Digest, p.Size
	body, err := repository.Verified(ctx, located.repo, blob, p.Filename)
	if err != nil {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, err)
	}
	return body, p.Size, nil
}

// stat implements the capability Stat with one HEAD request to the registry.
func (s *Source) stat(ctx context.Context, p provider.Package) (checked bool, err error) {
	located, ok := p.Locator.(ociBlob)
	if !ok {
		return false, fmt.Errorf("looking for %s: %w", p.Filename, provider.ErrWrongSource)
	}
	size, err := located.repo.Stat(ctx, artifact.ZipDescriptor(p))
	if err == nil && size != p.Size {
		err = &sums.SizeError{Name: p.Filename, Got: size, Want: p.Size}
	}
	return true, err
}

// Decisions returns the recorded decisions about a release from a [Source] or
// [FromInspection]. See [repository.DecisionsAbout]. For other releases, it returns
// [provider.ErrWrongSource].
func Decisions(ctx context.Context, r provider.Release) ([]artifact.SignedDecision, error) {
	located, ok := r.Locator.(ociIndex)
	if !ok {
		return nil, provider.ErrWrongSource
	}
	if located.decided {
		return repository.HumanDecisions(located.decisions, located.repo, r, located.index, located.stored), nil
	}
	return repository.DecisionsAbout(ctx, located.repo, r, located.index, located.stored)
}

// WithDecisions returns r with decisions that have already been read, so that
// [Decisions] returns them. The release must come from a [Source] or [FromInspection].
func WithDecisions(r provider.Release, decisions []repository.DecisionRecord) provider.Release {
	if located, ok := r.Locator.(ociIndex); ok {
		located.decided, located.decisions = true, decisions
		r.Locator = located
	}
	return r
}

// documents returns the referrers of the index, which are SBOMs and provenance for all
// platforms.
func (s *Source) documents(ctx context.Context, r provider.Release) ([]provider.Document, error) {
	located, ok := r.Locator.(ociIndex)
	if !ok {
		return nil, nil
	}
	return repository.Documents(ctx, located.repo, located.index)
}

// Attestations returns the Sigstore bundles that refer to the manifests of packages.
// The map's keys are the digests of the packages' zips. The release must come from a
// [Source] or [FromInspection].
func Attestations(ctx context.Context, r provider.Release) (map[digest.Digest][]provider.Document, error) {
	found := make([][]provider.Document, len(r.Packages))
	err := schedule.All(ctx, maxDocuments, r.Packages, func(ctx context.Context, i int, p provider.Package) (err error) {
		if located, ok := p.Locator.(ociBlob); ok && !r.Address.IsModule() {
			found[i], _, err = repository.Attestations(ctx, located.repo, located.manifest, p)
		}
		return err
	})
	all := map[digest.Digest][]provider.Document{}
	for i, p := range r.Packages {
		all[p.Digest] = append(all[p.Digest], found[i]...)
	}
	return all, err
}

// checkUsable returns an error if the index can't be read as a release. The error
// explains why the version can't be found.
func (s *Source) checkUsable(ctx context.Context, repo repository.Reader, a provider.Address, v provider.Version, found repository.Inspection) error {
	switch {
	case found.Dangling:
		return fmt.Errorf("the artifact is incomplete: %w", &repository.DanglingTagError{
			Tag: found.Tag, Index: ocispec.Descriptor{Digest: found.Digest}, Err: repository.ErrNotFound,
		})
	case !found.Exists():
		return s.missingVersion(ctx, repo, a, v, found.Absent)
	}
	return found.CheckFormat(a)
}
