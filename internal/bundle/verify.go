package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Verify reads all content of the available parts and verifies it. It returns errors
// for damaged parts, for content that does not match its digest, and for missing parts.
// If no part is missing, it also returns an error for each tag whose manifests are
// invalid. Content that was omitted for the receiver is not verified.
func (b *Bundle) Verify(ctx context.Context) (problems []error, err error) {
	problems = slices.Clone(b.Damaged)
	for _, d := range slices.Sorted(maps.Keys(b.positions)) {
		problems = append(problems, b.verifyContent(ctx, d)...)
		if ctx.Err() != nil {
			return problems, context.Cause(ctx)
		}
	}
	if missing := b.missingPart(); len(missing.Parts) > 0 {
		return append(problems, malformed("%w", missing)), nil
	}
	for _, r := range b.Manifest.Repositories {
		seen := map[Tag]bool{} // without names, because any number of tags can point to one manifest
		for _, t := range r.Tags {
			unnamed := Tag{MediaType: t.MediaType, ArtifactType: t.ArtifactType, Digest: t.Digest, Size: t.Size}
			if seen[unnamed] {
				continue
			}
			seen[unnamed] = true
			_, err := readGraph(ctx, &reader{bundle: b, repository: r}, t.Name)
			if err != nil && !isOmitted(err) {
				problems = append(problems, err)
			}
		}
	}
	return problems, nil
}

// readGraph reads the manifests that belong to a tag.
func readGraph(ctx context.Context, repo repository.Reader, tag string) (repository.Graph, error) {
	found, err := repository.Inspect(ctx, repo, tag, repository.DepthIndex)
	if err != nil {
		return repository.Graph{}, err
	}
	return found.ReadGraph(ctx, repo)
}

// verifyContent reads the content with a digest in each available part. It returns an
// error for each part whose content does not match.
func (b *Bundle) verifyContent(ctx context.Context, d digest.Digest) (problems []error) {
	for _, at := range b.positions[d] {
		if err := verify(ctx, io.NewSectionReader(at.file, at.start, b.content[d].Size), d); err != nil {
			problems = append(problems, fmt.Errorf("reading %s: %w", at.file.Name(), err))
		}
	}
	return problems
}

// isOmitted reports whether an error refers to content that was omitted for the
// receiver.
func isOmitted(err error) bool {
	missing, ok := errors.AsType[*MissingPartError](err)
	return ok && len(missing.Parts) == 0
}
