package referrers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxMerges is how often a list that other runs write at the same time is
// merged again.
const maxMerges = 20

// Attach stores documents about the manifest that subject describes, and gives
// the names of those that were not there. The same document is not attached
// twice, nor another one of the same name and type beside it. settle is how long
// to wait, in a registry that keeps no list itself, before looking whether
// another run has overwritten the list.
func Attach(ctx context.Context, repo Repository, documents []provider.Attachment, subject ocispec.Descriptor, settle time.Duration) (attached []string, err error) {
	if len(documents) == 0 {
		return nil, nil
	}
	// 1. What refers to the manifest already.
	known, err := read(ctx, repo, subject.Digest)
	if err != nil {
		return nil, fmt.Errorf("attaching %s: %w", documents[0].Name, err)
	}
	// 2. The documents that do not.
	var entries []ocispec.Descriptor
	for _, a := range documents {
		entry, isNew, err := store(ctx, repo, a, subject, known)
		if err != nil {
			return nil, fmt.Errorf("attaching %s: %w", a.Name, err)
		}
		if isNew {
			entries = append(entries, entry)
			attached = append(attached, a.Name)
		}
	}
	// 3. The list of them.
	if known.byAPI || len(entries) == 0 {
		return attached, nil
	}
	if err := enlist(ctx, repo, entries, subject.Digest, known, settle); err != nil {
		return nil, fmt.Errorf("attaching %s: %w", documents[0].Name, err)
	}
	return attached, nil
}

// store pushes a document and its manifest, unless one like it is listed and
// there.
func store(ctx context.Context, repo Repository, a provider.Attachment, subject ocispec.Descriptor, known list) (entry ocispec.Descriptor, isNew bool, err error) {
	referrer, err := artifact.PackReferrer(a, subject)
	if err != nil {
		return entry, false, err
	}
	for _, d := range known.entries {
		if !same(d, referrer.Entry) {
			continue
		}
		if there, err := isThere(ctx, repo, d); there || err != nil {
			return entry, false, err
		}
	}
	for _, b := range referrer.Blobs {
		if err := repo.PushBlob(ctx, b.Descriptor, bytes.NewReader(b.Bytes)); err != nil {
			return entry, false, err
		}
	}
	return referrer.Entry, true, repo.PushManifest(ctx, referrer.Manifest)
}

// isThere tells whether an entry leads anywhere: clean-up jobs take manifests
// away that have no tag.
func isThere(ctx context.Context, repo Reader, d ocispec.Descriptor) (bool, error) {
	_, _, err := repo.Manifest(ctx, d.Digest.String())
	if errors.Is(err, artifact.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// same tells whether two entries stand for the same document.
func same(d, entry ocispec.Descriptor) bool {
	return d.Digest == entry.Digest ||
		d.ArtifactType == entry.ArtifactType && d.Annotations[ocispec.AnnotationTitle] == entry.Annotations[ocispec.AnnotationTitle]
}

// enlist adds entries to the list under the referrers tag, and reads it back:
// another run may have written the list at the same time. Where the repository
// cannot refuse to move a tag that another run moved, it is read once more.
func enlist(ctx context.Context, repo Repository, entries []ocispec.Descriptor, subject digest.Digest, known list, settle time.Duration) error {
	_, isRegistry := repo.(api)
	settled := false
	for range maxMerges {
		missing := slices.DeleteFunc(slices.Clone(entries), func(e ocispec.Descriptor) bool { return known.has(e.Digest) })
		switch {
		case len(missing) > 0:
			next, err := known.with(ctx, repo, missing)
			if err != nil {
				return err
			}
			err = repo.PushTag(ctx, next, artifact.ReferrersTag(subject), known.tagged)
			if err != nil && !errors.Is(err, artifact.ErrTagMoved) {
				return err
			}
			settled = false
		case settled || !isRegistry:
			return nil
		default:
			if err := transfer.Pause(ctx, settle); err != nil {
				return err
			}
			settled = true
		}
		var err error
		if known, err = read(ctx, repo, subject); err != nil {
			return err
		}
	}
	return fmt.Errorf("the list of referrers: %w, %d times", artifact.ErrTagMoved, maxMerges)
}

// with is the list with more entries, and without those that lead nowhere:
// registries refuse an index that names what they do not have.
func (l list) with(ctx context.Context, repo Reader, entries []ocispec.Descriptor) (artifact.Blob, error) {
	var alive []ocispec.Descriptor
	for _, d := range l.entries {
		there, err := isThere(ctx, repo, d)
		if err != nil {
			return artifact.Blob{}, err
		}
		if there {
			alive = append(alive, d)
		}
	}
	return artifact.AddReferrer(alive, entries...)
}

func (l list) has(d digest.Digest) bool {
	return slices.ContainsFunc(l.entries, func(e ocispec.Descriptor) bool { return e.Digest == d })
}
