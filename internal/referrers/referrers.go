// Package referrers attaches documents to a manifest in an OCI repository and
// finds them again: by the referrers API where there is one, else by the
// referrers tag.
//
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#listing-referrers
package referrers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Reader reads a repository.
type Reader interface {
	Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error)
	Blob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error)
}

// Writer writes a repository.
type Writer interface {
	PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error
	PushManifest(ctx context.Context, m artifact.Blob) error
	PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error
}

// Repository is both.
type Repository interface {
	Reader
	Writer
}

// api is a repository of a registry that may have the referrers API.
type api interface {
	// Referrers lists what refers to a manifest; supported is false where the
	// registry has no such API.
	Referrers(ctx context.Context, subject digest.Digest) (list []ocispec.Descriptor, supported bool, err error)
}

// maxMerges is how often a list that other runs write at the same time is
// merged again.
const maxMerges = 20

// errSubject: GitLab resolves a tag "sha256-HEX" as that digest. A list of
// referrers that is written there takes the place of the artifact itself.
var errSubject = errors.New("the registry resolves the referrers tag to the artifact itself, so it can hold no list of referrers")

// list is what refers to a manifest.
type list struct {
	entries []ocispec.Descriptor
	// byAPI tells that the registry keeps the list itself.
	byAPI bool
	// tagged is the digest of the list under the referrers tag.
	tagged digest.Digest
}

func read(ctx context.Context, repo Reader, subject digest.Digest) (list, error) {
	if registry, ok := repo.(api); ok {
		entries, supported, err := registry.Referrers(ctx, subject)
		if supported || err != nil {
			return list{entries: entries, byAPI: true}, err
		}
	}
	d, data, err := repo.Manifest(ctx, artifact.ReferrersTag(subject))
	switch {
	case errors.Is(err, artifact.ErrNotFound):
		return list{}, nil
	case err != nil:
		return list{}, err
	case d.Digest == subject:
		return list{}, errSubject
	}
	entries, err := artifact.ParseReferrers(data)
	return list{entries: entries, tagged: d.Digest}, err
}

// Attach stores a document about the manifest that subject describes. The same
// document is not attached twice, nor another one of the same name and type
// beside it; attached is false then.
func Attach(ctx context.Context, repo Repository, a provider.Attachment, subject ocispec.Descriptor) (attached bool, err error) {
	referrer, err := artifact.PackReferrer(a, subject)
	if err != nil {
		return false, err
	}
	known, err := read(ctx, repo, subject.Digest)
	if err != nil {
		return false, fmt.Errorf("attaching %s: %w", a.Name, err)
	}
	if slices.ContainsFunc(known.entries, func(d ocispec.Descriptor) bool { return same(d, referrer.Entry) }) {
		return false, nil
	}
	for _, b := range referrer.Blobs {
		if err := repo.PushBlob(ctx, b.Descriptor, bytes.NewReader(b.Bytes)); err != nil {
			return false, fmt.Errorf("attaching %s: %w", a.Name, err)
		}
	}
	if err := repo.PushManifest(ctx, referrer.Manifest); err != nil {
		return false, fmt.Errorf("attaching %s: %w", a.Name, err)
	}
	if known.byAPI {
		return true, nil
	}
	if err := enlist(ctx, repo, referrer.Entry, subject.Digest, known); err != nil {
		return false, fmt.Errorf("attaching %s: %w", a.Name, err)
	}
	return true, nil
}

// same tells whether two entries stand for the same document.
func same(d, entry ocispec.Descriptor) bool {
	return d.Digest == entry.Digest ||
		d.ArtifactType == entry.ArtifactType && d.Annotations[ocispec.AnnotationTitle] == entry.Annotations[ocispec.AnnotationTitle]
}

// enlist adds an entry to the list under the referrers tag, and reads it back:
// another run may have written the list at the same time.
func enlist(ctx context.Context, repo Repository, entry ocispec.Descriptor, subject digest.Digest, known list) error {
	for range maxMerges {
		m, err := artifact.AddReferrer(known.entries, entry)
		if err != nil {
			return err
		}
		if err := repo.PushTag(ctx, m, artifact.ReferrersTag(subject), known.tagged); err != nil && !errors.Is(err, artifact.ErrTagMoved) {
			return err
		}
		if known, err = read(ctx, repo, subject); err != nil {
			return err
		}
		if slices.ContainsFunc(known.entries, func(d ocispec.Descriptor) bool { return d.Digest == entry.Digest }) {
			return nil
		}
	}
	return fmt.Errorf("the list of referrers: %w, %d times", artifact.ErrTagMoved, maxMerges)
}

// Documents reads what is attached to a manifest: SBOMs, provenance and the
// like, sorted as the repository lists them. Referrers that are something else,
// such as signatures of the artifact itself, are left out, and so is a
// repository's inability to list any.
func Documents(ctx context.Context, repo Reader, subject digest.Digest) ([]provider.Attachment, error) {
	known, err := read(ctx, repo, subject)
	if _, other := errors.AsType[*artifact.FormatError](err); other || errors.Is(err, errSubject) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the referrers of %s: %w", subject, err)
	}
	var documents []provider.Attachment
	for _, d := range known.entries {
		name := d.Annotations[ocispec.AnnotationTitle]
		if provider.CheckFilename(name) != nil {
			continue
		}
		a, err := document(ctx, repo, d)
		if err != nil {
			return nil, fmt.Errorf("reading the referrer %s: %w", name, err)
		}
		documents = append(documents, provider.Attachment{Name: name, MediaType: d.ArtifactType, Bytes: a})
	}
	return documents, nil
}

func document(ctx context.Context, repo Reader, d ocispec.Descriptor) ([]byte, error) {
	_, data, err := repo.Manifest(ctx, d.Digest.String())
	if err != nil {
		return nil, err
	}
	layer, err := artifact.ParseReferrer(data)
	if err != nil {
		return nil, err
	}
	body, err := repo.Blob(ctx, layer)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return io.ReadAll(sums.NewReader(body, layer.Digest.String(), layer.Size, layer.Digest))
}
