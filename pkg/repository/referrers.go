package repository

import (
	"context"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrSubject is GitLab's way: it resolves a tag "sha256-HEX" as that digest. A
// list of referrers that is written there takes the place of the artifact
// itself, so none is.
var ErrSubject = provider.Errorf(provider.Refused, "the registry resolves the referrers tag to the artifact itself, so it can hold no list of referrers")

// referrers is what refers to a manifest, by the referrers API where there is
// one, else by the referrers tag.
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#listing-referrers
type referrers struct {
	entries []ocispec.Descriptor
	// byAPI tells that the registry keeps the list itself.
	byAPI bool
	// list is what is under the referrers tag; the zero value when nothing is.
	list artifact.Blob
}

// readReferrers lists what refers to a manifest.
func readReferrers(ctx context.Context, repo Reader, subject digest.Digest) (referrers, error) {
	if ask := repo.Traits().Referrers; ask != nil {
		entries, supported, err := ask(ctx, subject)
		if supported || err != nil {
			return referrers{entries: entries, byAPI: true}, err
		}
	}
	d, data, err := repo.Manifest(ctx, artifact.ReferrersTag(subject))
	if there, err := isThere(err); !there {
		return referrers{}, err
	}
	if d.Digest == subject {
		return referrers{}, ErrSubject
	}
	entries, err := artifact.ParseReferrers(data)
	list := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: d.Digest, Size: int64(len(data))}
	return referrers{entries: entries, list: artifact.Blob{Descriptor: list, Bytes: data}}, err
}
