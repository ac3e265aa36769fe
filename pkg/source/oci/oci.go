// Package oci is the source of releases that lie in OCI repositories, at
// registries or in image layouts. Use it as the source of a pull, or to copy
// releases by publishing them elsewhere.
package oci

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// maxDocuments is how many small documents are asked for at once.
const maxDocuments = 8

// Source is the source of releases that lie in OCI repositories, one repository a
// provider. It reads every artifact that OpenTofu reads, and more strictly: a
// zip that its SHA256SUMS layer does not list is an error of Release already.
type Source struct {
	open    func(provider.Address) (repository.Reader, error)
	aliases provider.Aliases
	tags    tags

	// listings keep the tags of each repository, which show the denied versions.
	listings repository.Listings

	mu sync.Mutex
	// repos are the opened repositories, which keep their connections and tokens.
	repos map[provider.Address]repository.Reader
}

var _ provider.Capable = (*Source)(nil)

// New makes a source of the repositories that open finds for an address. A release
// that is annotated with another address is a *[repository.ProviderMismatchError], unless
// one of the aliases allows it. Denied versions are not listed, and the release of one
// is a *[repository.DeniedError]. The tags of each repository are listed once, so a
// source is for one run.
func New(open func(provider.Address) (repository.Reader, error), aliases ...provider.Alias) *Source {
	return &Source{open: open, aliases: slices.Clone(aliases), tags: released, repos: map[provider.Address]repository.Reader{}}
}

// NewPending makes a source of the releases that wait for approval in those
// repositories, which are under tags that no installation sees. Use it to look at
// them, and never to install.
func NewPending(open func(provider.Address) (repository.Reader, error), aliases ...provider.Alias) *Source {
	s := New(open, aliases...)
	s.tags = pending
	return s
}

// tags has the functions that return the tag of a version and the versions in a list of
// tags, and that check whether a version may be read.
type tags struct {
	of       func(provider.Version) string
	versions func(artifact.Tags) []provider.Version
	admit    func(context.Context, repository.Reader, provider.Version) error
}

var (
	released = tags{artifact.Tag, artifact.Tags.Released, repository.CheckDenied}
	pending  = tags{artifact.PendingTag, artifact.Tags.Undecided, func(context.Context, repository.Reader, provider.Version) error { return nil }}
)

// ociBlob is where a zip of an OCI source lies.
type ociBlob struct {
	repo repository.Reader
	blob ocispec.Descriptor
}

// ociIndex is where a release of an OCI source lies.
type ociIndex struct {
	repo  repository.Reader
	index digest.Digest
}

// Capabilities reports that releases are published, and provides the denied versions, the
// documents that refer to releases, and a check whether zips exist.
func (s *Source) Capabilities() provider.Capabilities {
	return provider.Capabilities{Published: true, Denied: s.denied, Documents: s.documents, Stat: s.stat}
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
	s.repos[a] = repo
	return repo, nil
}

// Versions lists the versions that have a tag and are not denied. If the repository is
// missing, and OpenTofu would treat that as a missing provider (see
// [repository.ResponseError] NoProvider), the error is [provider.ErrProviderNotFound].
// Otherwise it is the repository's own.
func (s *Source) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	return s.list(ctx, a, s.tags.versions)
}

// denied lists the denied versions. Errors are those of Versions.
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

// Release reads a version's index, the manifests of the platforms, and the
// evidence that they carry. A platform that the index has several entries for is
// an *[artifact.FormatError] when it is named; else it is left out.
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
	// 1. The index under the version's tag.
	if err := s.tags.admit(ctx, repo, v); err != nil {
		return provider.Release{}, err
	}
	found, err := repository.Inspect(ctx, repo, s.tags.of(v), repository.DepthIndex)
	if err != nil {
		return provider.Release{}, err
	}
	if err := s.usable(ctx, repo, a, v, found); err != nil {
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
	// 2. One manifest a platform.
	if found, err = found.InspectMore(ctx, repo, repository.DepthManifests, platforms...); err != nil {
		return provider.Release{}, err
	}
	// 3. The packages, compared with the evidence that they carry.
	return FromInspection(ctx, repo, found, a, v, platforms)
}

// Open returns the zip's layer through the verifying reader.
func (s *Source) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	at, ok := p.Locator.(ociBlob)
	if !ok {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, provider.ErrWrongSource)
	}
	// The package is what was asked for, and what is held against its digest.
	blob := at.blob
	blob.Digest, blob.Size = p.Digest, p.Size
	body, err := repository.Verified(ctx, at.repo, blob, p.Filename)
	if err != nil {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, err)
	}
	return body, p.Size, nil
}

// stat is the capability Stat: one HEAD request to a registry.
func (s *Source) stat(ctx context.Context, p provider.Package) (checked bool, err error) {
	at, ok := p.Locator.(ociBlob)
	if !ok {
		return false, fmt.Errorf("looking for %s: %w", p.Filename, provider.ErrWrongSource)
	}
	size, err := at.repo.Stat(ctx, p.Digest)
	if err == nil && size != p.Size {
		err = &sums.SizeError{Name: p.Filename, Got: size, Want: p.Size}
	}
	return true, err
}

// documents reads what refers to a release's index: SBOMs and provenance that
// cover all platforms.
func (s *Source) documents(ctx context.Context, r provider.Release) ([]provider.Document, error) {
	at, ok := r.Locator.(ociIndex)
	if !ok {
		return nil, nil
	}
	return repository.Documents(ctx, at.repo, at.index)
}

// usable refuses what can't be read as a release, and tells the ways apart in
// which a version may be missing.
func (s *Source) usable(ctx context.Context, repo repository.Reader, a provider.Address, v provider.Version, found repository.Inspection) error {
	switch {
	case found.Dangling:
		return fmt.Errorf("the artifact is not whole: %w", &repository.DanglingTagError{
			Tag: found.Tag, Index: ocispec.Descriptor{Digest: found.Digest}, Err: repository.ErrNotFound,
		})
	case !found.Exists():
		return s.missingVersion(ctx, repo, a, v, found.Absent)
	}
	return found.Format
}
