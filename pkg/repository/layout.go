package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// layout is a repository in an OCI image layout directory. Blobs are written once and
// never changed. index.json is locked and replaced atomically, so different processes
// can read and write the layout at any time. Reading doesn't create files. See
// https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md.
type layout struct {
	dir   string
	swept atomicfile.Sweeper
	// blobs records which blob files have the correct content.
	blobs        *blobVerifier
	confirmDelay time.Duration
	progress     provider.Progress
	// subjects maps the untagged manifests that were read to their subjects. For a manifest
	// without a subject, the value is empty.
	subjects sync.Map
}

// NewLayout returns the repository in an image layout directory, which need not exist.
func NewLayout(dir string) Repository { return newLayout(dir, Options{}) }

func newLayout(dir string, o Options) *layout {
	dir = filepath.Clean(filepath.FromSlash(dir))
	return &layout{dir: dir, blobs: newBlobVerifier(dir), confirmDelay: cmp.Or(o.ConfirmDelay, defaultConfirmDelay), progress: o.Progress}
}

// String returns "oci-layout:DIR" with forward slashes, as in templates.
func (l *layout) String() string { return "oci-layout:" + filepath.ToSlash(l.dir) }

// Tags returns all tags. If the layout has indexes but no tags, it returns [ErrUntagged].
func (l *layout) Tags(ctx context.Context) ([]string, error) {
	index, err := l.readIndex(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the tags of %s: %w", l, err)
	}
	var tags []string
	for _, d := range index.Manifests {
		if tag := d.Annotations[ocispec.AnnotationRefName]; tag != "" {
			tags = append(tags, tag)
		}
	}
	tags = validTags("the tags of "+l.String(), tags, l.progress) // crane --annotate-ref writes references
	isIndex := func(d ocispec.Descriptor) bool { return d.MediaType == ocispec.MediaTypeImageIndex }
	if len(tags) == 0 && slices.ContainsFunc(index.Manifests, isIndex) {
		return nil, fmt.Errorf("listing the tags of %s: %w: expected the annotation %s", l, ErrUntagged, ocispec.AnnotationRefName)
	}
	return tags, nil
}

// Capabilities returns the capabilities of a layout: tags are written atomically and can
// be deleted, and blobs are files.
func (l *layout) Capabilities() Capabilities {
	return Capabilities{AtomicTags: true, ConfirmDelay: l.confirmDelay, DeleteTag: l.deleteTag, DeleteManifest: l.deleteManifest, BlobPath: l.blobPath, UntaggedReferrers: l.untaggedReferrers, Writable: l.writable}
}

// Manifest reads a manifest or index by tag or digest.
func (l *layout) Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	d, data, err := l.manifest(ctx, reference)
	if err != nil {
		return ocispec.Descriptor{}, nil, fmt.Errorf("reading manifest %s in %s: %w", reference, l, err)
	}
	return d, data, nil
}

func (l *layout) manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	if wanted, err := digest.Parse(reference); err == nil {
		return l.manifestOf(ctx, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: wanted})
	}
	index, err := l.readIndex(ctx)
	if err != nil {
		return ocispec.Descriptor{}, nil, err
	}
	at := find(index, reference)
	if at < 0 {
		return ocispec.Descriptor{}, nil, ErrNotFound
	}
	d, data, err := l.manifestOf(ctx, index.Manifests[at])
	if isLost(err) {
		err = &DanglingTagError{Tag: reference, Index: index.Manifests[at], Err: err}
	}
	return d, data, err
}

func (l *layout) manifestOf(ctx context.Context, d ocispec.Descriptor) (ocispec.Descriptor, []byte, error) {
	f, err := l.open(ctx, d.Digest)
	if err != nil {
		return d, nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return d, nil, err
	}
	if wait := schedule.ReserveMemory(ctx, info.Size()); wait != nil {
		if err := wait(); err != nil {
			return d, nil, err
		}
	}
	d, data, err := readManifest(f, d)
	if mediaType, artifactType, invalid := artifact.TypesOf(data); err == nil && invalid == nil && mediaType != "" {
		d.MediaType, d.ArtifactType = mediaType, artifactType // index.json can be wrong, and has no types for digests
	}
	return d, data, err
}

// Blob opens the file of a blob. The returned reader also implements io.ReaderAt.
func (l *layout) Blob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	f, err := l.open(ctx, d.Digest)
	if err != nil {
		return nil, fmt.Errorf("opening blob %s in %s: %w", d.Digest, l, err)
	}
	return f, nil
}

// Stat returns the size of a blob's file. If the file is corrupt, the error wraps
// [ErrNotFound] and a *[sums.MismatchError]. Stat reads the file to verify it, unless
// the file was verified before and hasn't changed since then.
func (l *layout) Stat(ctx context.Context, blob ocispec.Descriptor) (int64, error) {
	d := blob.Digest
	path, err := l.blobPath(d)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return 0, fmt.Errorf("looking for blob %s in %s: %w", d, l, notFound(err))
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("looking for blob %s in %s: %s is not a regular file", d, l, path)
	}
	if err := l.blobs.check(ctx, d, path, info); err != nil {
		return 0, fmt.Errorf("looking for blob %s in %s: %w", d, l, err)
	}
	return info.Size(), nil
}

// sweep removes files that interrupted runs left behind.
func (l *layout) sweep() {
	l.swept.Sweep(l.dir)
	l.swept.Sweep(filepath.Join(l.dir, ocispec.ImageBlobsDir, digest.SHA256.String()))
}

// PushBlob stores a blob. It replaces a damaged file.
func (l *layout) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	path, err := l.blobPath(d.Digest)
	if err != nil {
		return err
	}
	l.sweep()
	if err := atomicfile.CheckFreeSpace(l.dir, d.Size); err != nil {
		return fmt.Errorf("storing blob %s in %s: %w", d.Digest, l, err)
	}
	_, missing := os.Lstat(l.dir)
	err = atomicfile.Write(path, 0o644, func(w io.Writer) error {
		verified := sums.NewReader(bounded.Reader(ctx, content), "blob "+d.Digest.String(), d.Size, d.Digest)
		_, err := transfer.Copy(w, verified, d.Size)
		return err
	})
	if err != nil {
		if errors.Is(missing, fs.ErrNotExist) {
			l.removeEmpty(filepath.Dir(path))
		}
		return fmt.Errorf("storing blob %s in %s: %w", d.Digest, l, err)
	}
	l.blobs.stored(d.Digest, path)
	return nil
}

// removeEmpty removes the empty directories of a layout that was just created, starting
// at blobs and moving up.
func (l *layout) removeEmpty(blobs string) {
	for _, dir := range []string{blobs, filepath.Dir(blobs), l.dir} {
		if os.Remove(dir) != nil {
			return
		}
	}
}

func (l *layout) open(ctx context.Context, d digest.Digest) (*os.File, error) {
	path, err := l.blobPath(d)
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return nil, err
	}
	f, err := bounded.OpenFile(path)
	if err != nil {
		return nil, notFound(err)
	}
	return f, nil
}

// blobPath returns the path of a blob. It requires a valid digest, so the path is always
// inside the layout.
func (l *layout) blobPath(d digest.Digest) (string, error) {
	if err := d.Validate(); err != nil {
		return "", fmt.Errorf("digest %q: %w", d, err)
	}
	return filepath.Join(l.dir, ocispec.ImageBlobsDir, d.Algorithm().String(), d.Encoded()), nil
}

// isLost reports whether err means that content is missing or damaged.
func isLost(err error) bool {
	_, damaged := errors.AsType[*sums.MismatchError](err)
	return damaged || errors.Is(err, ErrNotFound)
}

func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	return err
}

// writable implements [Capabilities.Writable]. It creates and removes a file in the
// layout or, if the layout doesn't exist, in its closest existing parent directory.
func (l *layout) writable(context.Context) error {
	dir := l.dir
	for {
		_, err := os.Stat(dir)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	f, err := os.CreateTemp(dir, ".tofu-oci-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
