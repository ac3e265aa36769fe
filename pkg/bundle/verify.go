package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Verify reads all content of the available parts and verifies it. It returns the
// damage of parts, wrong content, and the versions that need missing parts. Content
// that was omitted for the receiver is not verified.
func (b *Bundle) Verify(ctx context.Context) (problems []error, err error) {
	problems = slices.Clone(b.Damaged)
	for _, d := range slices.Sorted(maps.Keys(b.positions)) {
		at, c := b.positions[d], b.content[d]
		content := bounded.Reader(ctx, io.NewSectionReader(at.file, at.start, c.Size))
		if _, err := io.Copy(io.Discard, sums.NewReader(content, d.String(), c.Size, d)); err != nil {
			problems = append(problems, fmt.Errorf("reading %s: %w", at.file.Name(), err))
		}
		if ctx.Err() != nil {
			return problems, context.Cause(ctx)
		}
	}
	var absent []int
	for _, c := range b.Manifest.Content {
		absent = append(absent, b.missing(c.Digest)...)
	}
	slices.Sort(absent)
	if absent = slices.Compact(absent); len(absent) > 0 {
		return append(problems, malformed("missing or damaged parts: %s of %d", joinNumbers(absent, ", "), b.Manifest.Parts)), nil
	}
	for _, r := range b.Manifest.Repositories {
		for _, t := range r.Tags {
			_, err := repository.ReadGraph(ctx, &reader{bundle: b, repository: r}, t.Name)
			if err != nil && !isOmitted(err) {
				problems = append(problems, err)
			}
		}
	}
	return problems, nil
}

// isOmitted reports whether an error refers to content that was omitted for the
// receiver.
func isOmitted(err error) bool {
	missing, ok := errors.AsType[*MissingPartError](err)
	return ok && len(missing.Parts) == 0
}
