package repository

import (
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Referrers contains the referrers of an index.
type Referrers struct {
	// Documents contains the same documents as [Documents].
	Documents []provider.Document
	// Decisions contains the recorded decisions, oldest first.
	Decisions []DecisionRecord
	// Lost contains the problems that [Documents] ignores: an invalid referrers list,
	// documents that are missing or differ from the list, and too many decisions.
	Lost []error
}

// ReadReferrers reads the referrers of an index. It reads the referrers list once.
func ReadReferrers(ctx context.Context, repo Reader, index digest.Digest) (r Referrers, err error) {
	entries, invalid, err := listReferrers(ctx, repo, index)
	if err != nil {
		return r, err
	}
	r.Documents, r.Lost, err = readDocuments(ctx, repo, entries, index)
	r.Lost = append(r.Lost, invalid...)
	if err != nil {
		return r, err
	}
	for _, d := range r.Documents {
		exists, err := hasBlob(ctx, repo, ocispec.Descriptor{Digest: d.Digest, Size: d.Size})
		if err != nil {
			return r, err
		}
		if !exists {
			r.Lost = append(r.Lost, fmt.Errorf("the document %s is missing or damaged: %w", d.Name, ErrNotFound))
		}
	}
	for _, kinds := range [][]string{personal, {artifact.DecisionGate}} {
		found, err := readDecisions(ctx, repo, entries, index, kinds...)
		if errors.Is(err, errFlood) {
			r.Lost, err = append(r.Lost, err), nil
		}
		if err != nil {
			return r, err
		}
		r.Decisions = append(r.Decisions, found...)
	}
	sortDecisions(r.Decisions)
	return r, nil
}
