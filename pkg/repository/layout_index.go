package repository

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

const (
	// maxLayoutIndex is the maximum size of index.json in bytes. It allows about 30,000
	// tags.
	maxLayoutIndex = 16 << 20
	// maxLayoutValues limits the number of JSON values in index.json. Each tag uses
	// seven values.
	maxLayoutValues = 256 << 10
)

// PushManifest stores a manifest under its digest.
func (l *layout) PushManifest(ctx context.Context, m artifact.Blob) error {
	return l.PushBlob(ctx, m.Descriptor, bytes.NewReader(m.Bytes))
}

// PushTag stores a manifest under a tag. It returns [ErrTagMoved] if the tag doesn't
// point to was, and [ErrContentDeleted] if content that the manifest refers to doesn't
// exist.
func (l *layout) PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error {
	if err := l.PushManifest(ctx, m); err != nil {
		return err
	}
	err := l.locked(ctx, func() error {
		index, err := l.readIndex(ctx)
		if errors.Is(err, ErrNoRepository) {
			index, err = ocispec.Index{}, l.create()
		}
		if err != nil {
			return err
		}
		var current digest.Digest
		if at := find(index, tag); at >= 0 {
			current = index.Manifests[at].Digest
		}
		if current != was {
			return ErrTagMoved
		}
		if err := l.checkContent(ctx, m); err != nil {
			return err
		}
		d := m.Descriptor
		d.Annotations = map[string]string{ocispec.AnnotationRefName: tag}
		index.Manifests = append(slices.DeleteFunc(index.Manifests, isTag(tag)), d)
		return l.writeIndex(index)
	})
	if err != nil {
		return fmt.Errorf("tagging %s in %s: %w", tag, l, err)
	}
	return nil
}

// deleteTag implements [Capabilities.DeleteTag]. It keeps the files, because other tags
// might refer to them.
func (l *layout) deleteTag(ctx context.Context, tag string, was digest.Digest) error {
	err := l.keepEntries(ctx, func(entries []ocispec.Descriptor) ([]ocispec.Descriptor, error) {
		if at := slices.IndexFunc(entries, isTag(tag)); at >= 0 && entries[at].Digest != was {
			return nil, ErrTagMoved
		}
		return slices.DeleteFunc(entries, isTag(tag)), nil
	})
	if err != nil {
		return fmt.Errorf("deleting tag %s in %s: %w", tag, l, err)
	}
	return nil
}

// keepEntries removes all entries of index.json except those that keep returns. No other
// process can write index.json during the call. If the directory doesn't exist, keepEntries
// does nothing.
func (l *layout) keepEntries(ctx context.Context, keep func([]ocispec.Descriptor) ([]ocispec.Descriptor, error)) error {
	if _, err := os.Stat(l.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return l.locked(ctx, func() error {
		index, err := l.readIndex(ctx)
		if err != nil {
			return err
		}
		before := len(index.Manifests)
		if index.Manifests, err = keep(index.Manifests); err != nil || len(index.Manifests) == before {
			return err
		}
		return l.writeIndex(index)
	})
}

// locked calls do while no other process can write the index.
func (l *layout) locked(ctx context.Context, do func() error) error {
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return err
	}
	return atomicfile.WithLock(ctx, l.dir, do)
}

// create writes the file that marks the directory as a layout.
func (l *layout) create() error {
	marker, err := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(l.dir, ocispec.ImageLayoutFile), 0o644, marker)
}

// readIndex reads index.json if the directory is a layout.
func (l *layout) readIndex(ctx context.Context) (ocispec.Index, error) {
	if err := ctx.Err(); err != nil {
		return ocispec.Index{}, err
	}
	// Check for the index first, because writers create the marker before the index.
	_, noIndex := os.Lstat(filepath.Join(l.dir, ocispec.ImageIndexFile))
	var marker ocispec.ImageLayout
	if err := l.readJSON(ocispec.ImageLayoutFile, &marker); err != nil {
		if noIndex == nil && errors.Is(err, ErrNoRepository) {
			err = fmt.Errorf("%s has %s but no %s", l.dir, ocispec.ImageIndexFile, ocispec.ImageLayoutFile)
		}
		return ocispec.Index{}, err
	}
	if marker.Version != ocispec.ImageLayoutVersion {
		return ocispec.Index{}, fmt.Errorf("%s has layout version %q, want %q", l.dir, marker.Version, ocispec.ImageLayoutVersion)
	}
	var index ocispec.Index
	err := l.readJSON(ocispec.ImageIndexFile, &index)
	if errors.Is(err, ErrNoRepository) {
		// The layout was just created. Its index doesn't exist yet.
		return ocispec.Index{}, nil
	}
	return index, err
}

func (l *layout) readJSON(name string, into any) error {
	path := filepath.Join(l.dir, name)
	data, err := bounded.ReadFile(path, maxLayoutIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoLayout
	}
	if err != nil {
		return err
	}
	if err := bounded.DecodeJSON(data, into, maxLayoutValues); err != nil {
		return fmt.Errorf("%s %w: %w", path, ErrDamagedLayout, err)
	}
	return nil
}

// writeIndex replaces index.json. It sorts the entries, so that identical entries
// always result in identical bytes.
func (l *layout) writeIndex(index ocispec.Index) error {
	index.Versioned = specs.Versioned{SchemaVersion: 2}
	index.MediaType = ocispec.MediaTypeImageIndex
	slices.SortStableFunc(index.Manifests, func(a, b ocispec.Descriptor) int {
		return cmp.Or(
			cmp.Compare(a.Annotations[ocispec.AnnotationRefName], b.Annotations[ocispec.AnnotationRefName]),
			cmp.Compare(a.Digest, b.Digest),
		)
	})
	data, err := json.Marshal(index)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(l.dir, ocispec.ImageIndexFile), 0o644, data)
}

// find returns the position of a tag in an index, or -1 if the index doesn't contain
// the tag.
func find(index ocispec.Index, tag string) int {
	return slices.IndexFunc(index.Manifests, isTag(tag))
}

func isTag(tag string) func(ocispec.Descriptor) bool {
	return func(d ocispec.Descriptor) bool { return d.Annotations[ocispec.AnnotationRefName] == tag }
}

// untaggedReferrers implements [Capabilities.UntaggedReferrers]. It skips missing and
// damaged manifests, because their subject is unknown.
func (l *layout) untaggedReferrers(ctx context.Context, subject digest.Digest) ([]ocispec.Descriptor, error) {
	index, err := l.readIndex(ctx)
	if err != nil {
		_, err = isFound(err)
		return nil, err
	}
	var found []ocispec.Descriptor
	for _, entry := range index.Manifests {
		if known, isKnown := l.subjects.Load(entry.Digest); entry.Annotations[ocispec.AnnotationRefName] != "" || isKnown && known != subject {
			continue
		}
		_, data, err := l.manifestOf(ctx, entry)
		if isLost(err) || isFormat(err) || entry.Digest.Validate() != nil {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing the referrers of %s in %s: %w", subject, l, err)
		}
		referrer, refersTo := artifact.DescribeReferrer(data)
		l.subjects.Store(entry.Digest, refersTo)
		if refersTo != subject {
			continue
		}
		if found = append(found, referrer); len(found) > maxReferrers {
			return nil, fmt.Errorf("listing the referrers of %s in %s: list exceeds %d referrers", subject, l, maxReferrers)
		}
	}
	return found, nil
}
