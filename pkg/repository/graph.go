package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// Graph is the content that belongs to a tag: its manifest, everything that the
// manifest refers to, and the referrers of all manifests.
type Graph struct {
	// Root is the descriptor of the manifest that the tag points to.
	Root ocispec.Descriptor
	// Manifests contains each manifest once, after the manifests that it refers to.
	Manifests []artifact.Blob
	// Blobs contains each blob once.
	Blobs []ocispec.Descriptor
	// Referrers maps referrers tags to the descriptors of their referrers lists.
	// Manifests contains these lists, too.
	Referrers map[string]ocispec.Descriptor
}

// ReadGraph reads the manifests that belong to a tag or digest, but no blobs. It has
// the same limits as [Copy]. If content is missing, the error wraps [ErrNotFound].
// Missing referrers are omitted, as in a copy.
func ReadGraph(ctx context.Context, repo Reader, reference string) (Graph, error) {
	d, data, err := repo.Manifest(ctx, reference)
	return Inspection{Tag: reference, Absent: err, Descriptor: d, Bytes: data}.ReadGraph(ctx, repo)
}

// ReadGraph reads the same content as [ReadGraph] for an inspected tag, without reading
// the inspected manifests again.
func (i Inspection) ReadGraph(ctx context.Context, repo Reader) (Graph, error) {
	w := graphReader{repo: repo, seen: map[digest.Digest]bool{}, known: map[digest.Digest][]byte{}}
	w.graph.Root, w.graph.Referrers = i.Descriptor, map[string]ocispec.Descriptor{}
	for _, f := range i.Platforms {
		if f.Err == nil {
			w.known[f.Target.Descriptor.Digest] = f.Bytes
		}
	}
	err := i.Absent
	if i.Dangling {
		err = fmt.Errorf("the tag's index is missing: %w", ErrNotFound)
	}
	if err == nil {
		err = w.add(ctx, artifact.Blob{Descriptor: i.Descriptor, Bytes: i.Bytes}, maxCopyDepth)
	}
	for level := 0; err == nil && len(w.subjects) > 0; level++ {
		if level > maxReferrerLevels {
			err = &artifact.FormatError{Problem: fmt.Sprintf("referrers are nested more than %d levels deep", maxReferrerLevels)}
		}
		subjects := w.subjects
		w.subjects = nil
		for n := 0; err == nil && n < len(subjects); n++ {
			err = w.addReferrers(ctx, subjects[n])
		}
	}
	if err != nil {
		return Graph{}, fmt.Errorf("reading %s in %s: %w", i.Tag, repo, err)
	}
	return w.graph, nil
}

// graphReader collects the content of a [Graph].
type graphReader struct {
	repo  Reader
	graph Graph
	seen  map[digest.Digest]bool
	// known contains manifests that were already read.
	known map[digest.Digest][]byte
	// subjects contains the manifests whose referrers have not been read yet.
	subjects []digest.Digest
}

// add adds a manifest after everything that it refers to.
func (w *graphReader) add(ctx context.Context, m artifact.Blob, depth int) error {
	manifests, blobs, err := artifact.Children(m.Bytes)
	if err != nil {
		return err
	}
	if depth == 0 && len(manifests) > 0 {
		return &artifact.FormatError{Problem: "indexes are nested too deeply"}
	}
	for _, d := range manifests {
		if err := w.child(ctx, d, depth-1); err != nil {
			return err
		}
	}
	for _, d := range blobs {
		if !w.seen[d.Digest] {
			w.seen[d.Digest] = true
			w.graph.Blobs = append(w.graph.Blobs, ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size})
		}
	}
	w.append(m)
	w.subjects = append(w.subjects, m.Descriptor.Digest)
	return nil
}

// append adds only the manifest itself.
func (w *graphReader) append(m artifact.Blob) {
	if m.Descriptor.Size = int64(len(m.Bytes)); !w.seen[m.Descriptor.Digest] {
		w.seen[m.Descriptor.Digest] = true
		w.graph.Manifests = append(w.graph.Manifests, m)
	}
}

// child reads and adds a manifest.
func (w *graphReader) child(ctx context.Context, d ocispec.Descriptor, depth int) error {
	switch {
	case w.seen[d.Digest]:
		return nil
	case len(w.graph.Manifests) == maxCopied:
		return &artifact.FormatError{Problem: fmt.Sprintf("artifact has more than %d manifests", maxCopied)}
	}
	data, known := w.known[d.Digest]
	if !known {
		var err error
		if _, data, err = w.repo.Manifest(ctx, d.Digest.String()); err != nil {
			return &unreadableError{d.Digest, err}
		}
	}
	return w.add(ctx, artifact.Blob{Descriptor: d, Bytes: data}, depth)
}

// addReferrers adds the referrers of a manifest and their referrers list.
func (w *graphReader) addReferrers(ctx context.Context, subject digest.Digest) error {
	found, err := readReferrers(ctx, w.repo, subject)
	switch {
	case isFormat(err) || errors.Is(err, ErrNoReferrersList):
		return nil // the tag doesn't point to a referrers list
	case err != nil:
		return fmt.Errorf("listing the referrers of %s: %w", subject, err)
	case len(found.entries) > maxReferrers:
		return fmt.Errorf("listing the referrers of %s: %d referrers exceed the limit of %d", subject, len(found.entries), maxReferrers)
	}
	alive, err := existingReferrers(found.entries, func(d ocispec.Descriptor) error { return w.child(ctx, d, maxCopyDepth) })
	if err != nil || len(alive) == 0 {
		return err
	}
	slices.SortFunc(alive, func(a, b ocispec.Descriptor) int { return cmp.Compare(a.Digest, b.Digest) })
	list, err := artifact.AddReferrer(nil, alive...)
	if err != nil {
		return err
	}
	w.append(list)
	w.graph.Referrers[artifact.ReferrersTag(subject)] = list.Descriptor
	return nil
}
