package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Reader returns the repository of a provider or module in the bundle. If target is not
// nil, content that is not in the available parts is read from target. If the bundle
// doesn't contain the address, Reader returns [repository.ErrNoRepository].
func (b *Bundle) Reader(a provider.Address, target repository.Reader) (repository.Reader, error) {
	return b.reader(a, target)
}

func (b *Bundle) reader(a provider.Address, target repository.Reader) (*reader, error) {
	if r, found := b.repositories[a]; found {
		return &reader{bundle: b, repository: r, target: target}, nil
	}
	return nil, fmt.Errorf("%w: the bundle doesn't contain %s", repository.ErrNoRepository, a)
}

// reader is a repository in a bundle.
type reader struct {
	bundle     *Bundle
	repository Repository
	// target, if not nil, contains content of earlier imports. It can contain the
	// manifests of incomplete versions as blobs.
	target repository.Reader
}

// MissingPartError reports that content is not in the available parts.
type MissingPartError struct {
	// Digests contains the digests of the missing content. It is empty if all content of
	// the parts is missing.
	Digests []digest.Digest
	// Parts contains the numbers of the parts that contain the content. It is empty if
	// the content was omitted because the receiver had it.
	Parts []int
	// Total is the number of parts of the bundle.
	Total int
	// Damaged reports whether a part is damaged. If it is false, parts are only missing.
	Damaged bool
}

func (e *MissingPartError) Error() string {
	var listed []string
	for _, d := range e.Digests[:min(len(e.Digests), maxListed)] {
		listed = append(listed, string(d))
	}
	content := strings.Join(listed, ", ")
	if n := len(e.Digests) - maxListed; n > 0 {
		content += fmt.Sprintf(", and %d more", n)
	}
	if len(e.Parts) == 0 {
		return "the bundle omits content that the receiver's inventory listed: " + content
	}
	noun := "part"
	if len(e.Parts) > 1 {
		noun = "parts"
	}
	if content != "" {
		content = " with " + content
	}
	return fmt.Sprintf("missing or damaged: %s %s of %d%s", noun, joinNumbers(e.Parts), e.Total, content)
}

// maxListed is the maximum number of digests in a message.
const maxListed = 4

func (b *Bundle) missingPart(digests ...digest.Digest) *MissingPartError {
	return &MissingPartError{Digests: digests, Parts: b.MissingParts(digests...), Total: b.Manifest.Parts, Damaged: len(b.Damaged) > 0}
}

// Kind returns [provider.Unverified] if a part is damaged, and [provider.NotFound]
// otherwise.
func (e *MissingPartError) Kind() provider.ErrorKind {
	if e.Damaged {
		return provider.Unverified
	}
	return provider.NotFound
}

// Unwrap returns [repository.ErrNotFound].
func (e *MissingPartError) Unwrap() error { return repository.ErrNotFound }

// after returns e, preceded by an earlier error unless that error is nil.
func (e *MissingPartError) after(earlier error) error {
	if earlier == nil {
		return e
	}
	return fmt.Errorf("%w; %w", earlier, e)
}

func joinNumbers(numbers []int) string {
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(numbers), "[]")), ", ")
}

// String returns "bundle:" and the address.
func (r *reader) String() string { return "bundle:" + r.repository.Address }

// Capabilities returns the capabilities of a repository whose blobs are parts of local
// files.
func (r *reader) Capabilities() repository.Capabilities {
	return repository.Capabilities{AtomicTags: true}
}

// Tags returns all tags.
func (r *reader) Tags(context.Context) (tags []string, err error) {
	for _, t := range r.repository.Tags {
		tags = append(tags, t.Name)
	}
	return tags, nil
}

// Manifest reads a manifest or index by tag or digest. If the bundle's manifest and the
// content state different types for a tag, the error has the kind [provider.Malformed].
func (r *reader) Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	d, data, err := r.manifest(ctx, reference)
	if err != nil {
		return ocispec.Descriptor{}, nil, fmt.Errorf("reading %s in %s: %w", reference, r, err)
	}
	return d, data, nil
}

func (r *reader) manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	if d := digest.Digest(reference); d.Validate() == nil {
		return r.manifestOf(ctx, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: d})
	}
	tag := r.tag(reference)
	if tag.Name == "" {
		return ocispec.Descriptor{}, nil, repository.ErrNotFound
	}
	d, data, err := r.manifestOf(ctx, tag.descriptor())
	if err == nil {
		err = checkTypes(d, data)
	}
	return d, data, err
}

func (r *reader) manifestOf(ctx context.Context, d ocispec.Descriptor) (ocispec.Descriptor, []byte, error) {
	d.Size = r.bundle.content[d.Digest].Size
	body, err := r.open(ctx, d.Digest)
	_, isMissing := errors.AsType[*MissingPartError](err)
	if !isMissing && err != nil {
		return d, nil, err
	}
	if d.Size > artifact.MaxManifestSize {
		return d, nil, malformed("manifest %s exceeds %d bytes", d.Digest, artifact.MaxManifestSize)
	}
	if !isMissing {
		data, err := io.ReadAll(sums.NewReader(body, "manifest", d.Size, d.Digest))
		return d, data, err
	}
	data, err := fromTarget(r, err, func(target repository.Reader) ([]byte, error) {
		if _, data, err := target.Manifest(ctx, d.Digest.String()); err == nil {
			return data, nil
		}
		stored, err := repository.Verified(ctx, target, d, "manifest")
		if err != nil {
			return nil, err
		}
		defer func() { _ = stored.Close() }()
		return io.ReadAll(stored)
	})
	return d, data, err
}

// fromTarget reads content from the target if missing is a *[MissingPartError]. If it
// can't read the content, it returns missing, except for errors that a retry can fix.
func fromTarget[T any](r *reader, missing error, read func(repository.Reader) (T, error)) (content T, err error) {
	if _, ok := errors.AsType[*MissingPartError](missing); !ok || r.target == nil {
		return content, missing
	}
	content, err = read(r.target)
	if kind := provider.KindOf(err); err == nil || kind == provider.Transient || kind == provider.Interrupted {
		return content, err
	}
	return content, missing
}

// targetHas reports whether the target contains a blob, or a manifest that is stored as
// a manifest or as a blob.
func (r *reader) targetHas(ctx context.Context, d ocispec.Descriptor) bool {
	if _, err := r.target.Stat(ctx, d); err == nil {
		return true
	}
	if _, isManifest := slices.BinarySearch(r.repository.Manifests, d.Digest); !isManifest {
		return false
	}
	_, _, err := r.target.Manifest(ctx, d.Digest.String())
	return err == nil
}

// checkTypes compares the types of a tag with the manifest that it points to. The
// bundle's image index also contains the types. Wrong types would hide the manifest
// from programs that scan the extracted bundle. The artifact type is optional.
func checkTypes(tag ocispec.Descriptor, data []byte) error {
	mediaType, artifactType, err := artifact.TypesOf(data)
	if err != nil {
		return err
	}
	if tag.MediaType != cmp.Or(mediaType, tag.MediaType) || tag.ArtifactType != "" && tag.ArtifactType != artifactType {
		return malformed("manifest %s has type %.100q and artifact type %.100q, but %s states %.100q and %.100q",
			tag.Digest, mediaType, artifactType, manifestName, tag.MediaType, tag.ArtifactType)
	}
	return nil
}

func (r *reader) tag(name string) Tag {
	i, found := slices.BinarySearchFunc(r.repository.Tags, name, func(t Tag, name string) int { return strings.Compare(t.Name, name) })
	if !found {
		return Tag{}
	}
	return r.repository.Tags[i]
}

// open opens content in the available parts.
func (r *reader) open(ctx context.Context, d digest.Digest) (*io.SectionReader, error) {
	if content := r.bundle.open(ctx, d); content != nil {
		return content, nil
	}
	if _, listed := r.bundle.content[d]; listed {
		return nil, r.bundle.missingPart(d)
	}
	return nil, fmt.Errorf("%w: %s does not list %s", repository.ErrNotFound, manifestName, d)
}

// Blob opens a blob. Its content is not verified.
func (r *reader) Blob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	body, err := r.open(ctx, d.Digest)
	if err != nil {
		return fromTarget(r, err, func(target repository.Reader) (io.ReadCloser, error) { return target.Blob(ctx, d) })
	}
	return section{body}, nil
}

// section is a blob in a file. It also implements io.ReaderAt.
type section struct{ *io.SectionReader }

func (section) Close() error { return nil }

// Stat returns the size of a blob in bytes.
func (r *reader) Stat(ctx context.Context, d ocispec.Descriptor) (int64, error) {
	body, err := r.open(ctx, d.Digest)
	if err != nil {
		return fromTarget(r, err, func(target repository.Reader) (int64, error) { return target.Stat(ctx, d) })
	}
	return body.Size(), nil
}
