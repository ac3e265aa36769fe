package oci

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// maxShared is the maximum size in bytes of each document about a release, such as
// SHA256SUMS, its signature, and keys. These documents are usually a few kilobytes in
// size. All of them are stored in memory.
const maxShared = 4 << 20

// maxSharedTotal is the maximum total size of all documents about a release.
const maxSharedTotal = 16 << 20

// FromInspection returns the release with the packages and documents that an inspection
// has found for the given platforms. The inspection must include manifests. Each
// package is checked against its name and its SHA256SUMS. Documents about the release
// are read, but documents about a package are not. If the tag doesn't point to a
// release with packages, the error is a *[artifact.FormatError].
func FromInspection(ctx context.Context, repo repository.Reader, found repository.Inspection, a provider.Address, v provider.Version, platforms []provider.Platform) (provider.Release, error) {
	r := provider.Release{
		Address: a, Version: v, Protocols: found.Index.Protocols(), Published: found.Index.Published(),
		Stored:  provider.Stored{Repository: repo.String(), Tag: found.Tag, Digest: found.Digest},
		Locator: ociIndex{repo: repo, index: found.Digest, stored: found.Provider()},
	}
	if a.IsModule() {
		r.RegistryModule = found.Index.Annotations[artifact.AnnotationModule]
	}
	if err := found.CheckFormat(a); err != nil {
		return r, err
	}
	if len(platforms) == 0 {
		return r, &artifact.FormatError{Problem: "the index lists no platforms", Missing: artifact.PlatformPart}
	}
	for _, platform := range platforms {
		f := found.Platforms[platform]
		if errors.Is(f.Err, repository.ErrNotFound) {
			return r, fmt.Errorf("the artifact is incomplete: the manifest for %s is missing: %w", platform, f.Err)
		}
		if f.Err != nil {
			return r, f.Err
		}
		p := f.Package(a, v)
		p.Locator = ociBlob{repo, f.Manifest.Zip, f.Target.Descriptor.Digest}
		for _, layer := range f.Manifest.Documents {
			p.Documents = append(p.Documents, repository.DocumentAt(repo, layer, provider.SumsName(a, v)))
		}
		r.Packages = append(r.Packages, p)
	}
	if err := readShared(ctx, r.Packages); err != nil {
		return r, err
	}
	if err := checkPackages(r.Packages); err != nil {
		return r, err
	}
	shareDocuments(&r)
	return r, nil
}

// readShared reads the packages' documents about the release. If several manifests
// refer to a document, it is read only once.
func readShared(ctx context.Context, packages []provider.Package) error {
	contents := map[digest.Digest][]byte{}
	var wanted []provider.Document
	var total int64
	for _, p := range packages {
		for _, d := range p.Documents {
			if _, seen := contents[d.Digest]; seen || d.Scope != provider.ScopeRelease {
				continue
			}
			if d.Size > maxShared {
				return &artifact.FormatError{Problem: fmt.Sprintf("document %s is %d bytes; the maximum is %d", d.Name, d.Size, maxShared)}
			}
			if total += d.Size; total > maxSharedTotal {
				return &artifact.FormatError{Problem: fmt.Sprintf("documents about the release exceed %d bytes in total", maxSharedTotal)}
			}
			contents[d.Digest] = nil
			wanted = append(wanted, d)
		}
	}
	read := make([][]byte, len(wanted))
	err := schedule.All(ctx, maxDocuments, wanted, func(ctx context.Context, i int, d provider.Document) (err error) {
		read[i], err = d.Read(ctx)
		return err
	})
	if err != nil {
		return err
	}
	for i, d := range wanted {
		contents[d.Digest] = read[i]
	}
	for _, p := range packages {
		for i, d := range p.Documents {
			if content := contents[d.Digest]; content != nil && d.Scope == provider.ScopeRelease {
				p.Documents[i] = d.WithBytes(content)
			}
		}
	}
	return nil
}

// checkPackages checks each package against its name and its SHA256SUMS.
func checkPackages(packages []provider.Package) error {
	type listed struct {
		document provider.Document
		packages []provider.Package
	}
	var all []*listed
	known := map[digest.Digest]*listed{}
	for _, p := range packages {
		if err := p.CheckIdentity(); err != nil {
			return err
		}
		for _, d := range p.Documents {
			if d.Kind != provider.KindSums {
				continue
			}
			if known[d.Digest] == nil {
				known[d.Digest] = &listed{document: d}
				all = append(all, known[d.Digest])
			}
			known[d.Digest].packages = append(known[d.Digest].packages, p)
		}
	}
	for _, l := range all {
		if err := source.VerifySums(l.document, l.packages...); err != nil {
			return err
		}
	}
	return nil
}

// shareDocuments moves documents about the release from the packages to the release if
// all packages have the same documents. Artifacts from other tools can have a separate
// SHA256SUMS for each package.
func shareDocuments(r *provider.Release) {
	isShared := func(d provider.Document) bool { return d.Scope == provider.ScopeRelease }
	sharedOf := func(p provider.Package) []provider.Document {
		return slices.DeleteFunc(slices.Clone(p.Documents), func(d provider.Document) bool { return !isShared(d) })
	}
	first := sharedOf(r.Packages[0])
	for _, p := range r.Packages[1:] {
		if !slices.EqualFunc(first, sharedOf(p), sameDocument) {
			return
		}
	}
	r.Documents = first
	for i, p := range r.Packages {
		r.Packages[i].Documents = slices.DeleteFunc(slices.Clone(p.Documents), isShared)
	}
}

func sameDocument(a, b provider.Document) bool {
	return a.Name == b.Name && a.MediaType == b.MediaType && a.Digest == b.Digest
}

// missingVersion returns an error that lists the existing versions.
func (s *Source) missingVersion(ctx context.Context, repo repository.Reader, a provider.Address, v provider.Version, cause error) error {
	if errors.Is(cause, repository.ErrNoRepository) {
		return unknownProvider(a, cause)
	}
	tags, err := repo.Tags(ctx)
	if errors.Is(err, repository.ErrNoRepository) {
		return unknownProvider(a, err)
	}
	if err != nil {
		return fmt.Errorf("%w, and listing the other versions failed: %w", provider.ErrVersionNotFound, err)
	}
	return &provider.VersionError{Address: a, Version: v, Where: repo.String(), Have: s.tags.versions(tags), Err: cause}
}

func unknownProvider(a provider.Address, err error) error {
	return &provider.Error{Op: "looking for", Address: a, Err: fmt.Errorf("%w: %w", provider.ErrProviderNotFound, err)}
}
