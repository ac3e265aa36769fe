package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// maxDocuments is how many small documents are asked for at once.
const maxDocuments = 8

// Repository is what [OCI] needs of an OCI repository. Content that is missing
// is [artifact.ErrNotFound], a missing repository [artifact.ErrNoRepository].
type Repository interface {
	// Tags lists all tags, in any order.
	Tags(ctx context.Context) ([]string, error)
	// Manifest reads a manifest or index by tag or digest. The bytes have the
	// descriptor's digest, and are at most [artifact.MaxManifestSize].
	Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error)
	// Blob opens a blob; the bytes need not be verified.
	Blob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error)
}

// OCI is the source of releases that lie in OCI repositories, one repository a
// provider. It reads every artifact that OpenTofu reads, and more strictly: a
// zip that its SHA256SUMS layer does not list is an error of Release already.
type OCI struct {
	open func(provider.Address) (Repository, error)

	mu      sync.Mutex
	repos   map[provider.Address]Repository
	indexes memo[ociVersion, ociIndex]
}

type ociVersion struct {
	address provider.Address
	version provider.Version
}

// ociIndex is what lies under a version's tag.
type ociIndex struct {
	repo       Repository
	descriptor ocispec.Descriptor
	artifact.Index
}

var _ provider.Source = (*OCI)(nil)

// NewOCI makes a source of the repositories that open finds for an address.
func NewOCI(open func(provider.Address) (Repository, error)) *OCI {
	return &OCI{open: open, repos: map[provider.Address]Repository{}}
}

// ociLocator is where a zip or document of an OCI source lies.
type ociLocator struct {
	repo Repository
	blob ocispec.Descriptor
}

func (s *OCI) repository(a provider.Address) (Repository, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if repo, known := s.repos[a]; known {
		return repo, nil
	}
	repo, err := s.open(a)
	if err != nil {
		return nil, err
	}
	s.repos[a] = repo
	return repo, nil
}

// Versions lists the tags that are versions.
func (s *OCI) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	repo, err := s.repository(a)
	if err != nil {
		return nil, err
	}
	tags, err := repo.Tags(ctx)
	if errors.Is(err, artifact.ErrNoRepository) {
		return nil, fmt.Errorf("%w: %s: %w", provider.ErrProviderNotFound, a, err)
	}
	if err != nil {
		return nil, err
	}
	return provider.NewestFirst(versionsOf(tags)), nil
}

// versionsOf gives the versions among tags.
func versionsOf(tags []string) []provider.Version {
	var versions []provider.Version
	for _, tag := range tags {
		if v, ok := artifact.ParseTag(tag); ok {
			versions = append(versions, v)
		}
	}
	return versions
}

// Release reads a version's index, the manifests of the platforms, and the
// evidence that they carry.
func (s *OCI) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	reading := func(err error) (provider.Release, error) {
		return provider.Release{}, fmt.Errorf("reading %s %s: %w", a, v, err)
	}
	// 1. The index under the version's tag.
	index, err := s.index(ctx, a, v)
	if err != nil {
		return reading(err)
	}
	targets, err := choose(index.Index, a, v, only)
	if err != nil {
		return reading(err)
	}
	// 2. One manifest a platform.
	manifests, err := readManifests(ctx, index.repo, targets)
	if err != nil {
		return reading(err)
	}
	// 3. The evidence about the release, each document once.
	evidence := evidence{repo: index.repo, sums: provider.SumsName(a, v), known: map[digest.Digest][]byte{}}
	if err := evidence.fetch(ctx, manifests); err != nil {
		return reading(err)
	}
	// 4. The packages, compared with their sums.
	r := provider.Release{Address: a, Version: v, Protocols: index.Protocols()}
	for i, t := range targets {
		p := provider.Package{
			Address: a, Version: v, Platform: t.Platform,
			Filename: manifests[i].Filename, Digest: manifests[i].Zip.Digest, Size: manifests[i].Zip.Size, H1: t.H1(),
			Attachments: evidence.of(manifests[i]), Locator: ociLocator{index.repo, manifests[i].Zip},
		}
		if p.Filename == "" {
			p.Filename = provider.Filename(a, v, t.Platform)
		}
		if err := checkPackage(p); err != nil {
			return reading(err)
		}
		r.Packages = append(r.Packages, p)
	}
	shareEvidence(&r)
	return r, nil
}

// Open gives the zip's layer through the verifying reader.
func (s *OCI) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	at, ok := p.Locator.(ociLocator)
	if !ok {
		return nil, 0, fmt.Errorf("opening %s: the package is not of this source", p.Filename)
	}
	body, err := at.repo.Blob(ctx, at.blob)
	if err != nil {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, err)
	}
	return verifiedBody{sums.NewReader(body, p.Filename, p.Size, p.Digest), body}, p.Size, nil
}

// verifiedBody reads through verification and closes what lies under it.
type verifiedBody struct {
	io.Reader
	io.Closer
}

// index reads the index of a version, once.
func (s *OCI) index(ctx context.Context, a provider.Address, v provider.Version) (ociIndex, error) {
	return s.indexes.get(ctx, ociVersion{a, v}, func(ctx context.Context) (ociIndex, error) {
		repo, err := s.repository(a)
		if err != nil {
			return ociIndex{}, err
		}
		d, index, err := readIndex(ctx, repo, a, v)
		return ociIndex{repo, d, index}, err
	})
}

// readManifests reads the manifests of platforms, in their order.
func readManifests(ctx context.Context, repo Repository, targets []artifact.Target) ([]artifact.Manifest, error) {
	manifests := make([]artifact.Manifest, len(targets))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxDocuments)
	for i, t := range targets {
		group.Go(func() error {
			_, data, err := repo.Manifest(ctx, t.Descriptor.Digest.String())
			if err == nil {
				manifests[i], err = artifact.ParseManifest(data)
			}
			if errors.Is(err, artifact.ErrNotFound) {
				err = fmt.Errorf("the artifact is not whole, its manifest for %s is missing: %w", t.Platform, err)
			}
			return err
		})
	}
	return manifests, group.Wait()
}

// readIndex reads the index of a version and tells the ways apart in which it
// may be missing.
func readIndex(ctx context.Context, repo Repository, a provider.Address, v provider.Version) (d ocispec.Descriptor, index artifact.Index, err error) {
	d, data, err := repo.Manifest(ctx, artifact.Tag(v))
	switch {
	case errors.Is(err, artifact.ErrNoRepository):
		return d, index, fmt.Errorf("%w: %s: %w", provider.ErrProviderNotFound, a, err)
	case errors.Is(err, artifact.ErrNotFound):
		return d, index, missingVersion(ctx, repo, a, err)
	case err != nil:
		return d, index, err
	}
	index, err = artifact.ParseIndex(data)
	return d, index, err
}

// choose picks the entries of the wanted platforms, or all.
func choose(index artifact.Index, a provider.Address, v provider.Version, only []provider.Platform) ([]artifact.Target, error) {
	if len(only) == 0 {
		return index.Targets, nil
	}
	var targets []artifact.Target
	for _, p := range provider.SortPlatforms(only) {
		t, found := index.Target(p)
		if !found {
			return nil, &provider.PlatformError{Address: a, Version: v, Wanted: p, Have: index.Platforms()}
		}
		targets = append(targets, t)
	}
	return targets, nil
}
