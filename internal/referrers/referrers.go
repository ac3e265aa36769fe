// Package referrers attaches documents to a manifest in an OCI repository and
// finds them again: by the referrers API where there is one, else by the
// referrers tag.
//
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#listing-referrers
package referrers

import (
	"context"
	"errors"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
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

// ErrSubject is GitLab's way: it resolves a tag "sha256-HEX" as that digest. A
// list of referrers that is written there takes the place of the artifact
// itself, so none is.
var ErrSubject = errors.New("the registry resolves the referrers tag to the artifact itself, so it can hold no list of referrers")

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
		return list{}, ErrSubject
	}
	entries, err := artifact.ParseReferrers(data)
	return list{entries: entries, tagged: d.Digest}, err
}
