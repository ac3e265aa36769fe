package approval

import (
	"context"
	"errors"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Record is a denial as a repository keeps it.
type Record struct {
	artifact.Denial
	// Tag is that of the denial, and Digest its manifest's.
	Tag    string
	Digest digest.Digest
	// Index is what was denied. The registry may have collected it as garbage.
	Index digest.Digest
}

// Recorded gives the denial of a version that a repository keeps, nil where there is
// none.
func Recorded(ctx context.Context, repo repository.Reader, v provider.Version) (*Record, error) {
	// In registries that remove no tags, the pending one names the denial.
	for _, tag := range []string{artifact.DeniedTag(v), artifact.PendingTag(v)} {
		if r, err := recordAt(ctx, repo, tag); r != nil || err != nil {
			return r, err
		}
	}
	return nil, nil
}

// recordAt reads the denial that a tag names, nil where it names none.
func recordAt(ctx context.Context, repo repository.Reader, tag string) (*Record, error) {
	i, err := repository.Inspect(ctx, repo, tag, repository.DepthIndex)
	if err != nil {
		return nil, err
	}
	return RecordOf(ctx, repo, i)
}

// RecordOf reads the denial that an inspected tag names, nil where it names none.
func RecordOf(ctx context.Context, repo repository.Reader, i repository.Inspection) (*Record, error) {
	if i.Format == nil {
		return nil, nil
	}
	index, document, err := artifact.ParseDenialManifest(i.Bytes)
	if isFormat(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &Record{Tag: i.Tag, Digest: i.Digest, Index: index.Digest}
	content, err := repository.DocumentAt(repo, document, "").Read(ctx)
	if err == nil {
		r.Denial, err = artifact.ParseDenial(content)
	}
	if isGone(err) || isFormat(err) {
		r.Reason, err = "the reason is lost", nil // it was denied all the same
	}
	return r, err
}

// covers tells whether a record is about a release.
func (r *Record) covers(index digest.Digest, packages []provider.Package) bool {
	return r != nil && (r.Index == index || r.Covers(packages))
}

// isGone knows what is not there, and tags that lead to nothing.
func isGone(err error) bool {
	return errors.Is(err, repository.ErrNotFound) || errors.Is(err, repository.ErrNoRepository)
}

func isFormat(err error) bool {
	_, is := errors.AsType[*artifact.FormatError](err)
	return is
}
