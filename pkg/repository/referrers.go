package repository

import (
	"context"
	"errors"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// ErrSubject is GitLab's way: it resolves a tag "sha256-HEX" as that digest. A
// list of referrers that is written there takes the place of the artifact
// itself, so none is.
var ErrSubject = errors.New("the registry resolves the referrers tag to the artifact itself, so it can hold no list of referrers")

// referrers is what refers to a manifest, by the referrers API where there is
// one, else by the referrers tag.
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#listing-referrers
type referrers struct {
	entries []ocispec.Descriptor
	// byAPI tells that the registry keeps the list itself.
	byAPI bool
	// tagged is the digest of the list under the referrers tag.
	tagged digest.Digest
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
	switch {
	case errors.Is(err, ErrNotFound):
		return referrers{}, nil
	case err != nil:
		return referrers{}, err
	case d.Digest == subject:
		return referrers{}, ErrSubject
	}
	entries, err := artifact.ParseReferrers(data)
	return referrers{entries: entries, tagged: d.Digest}, err
}
