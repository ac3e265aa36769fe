package bundle

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

// Bundle is an open bundle, of which some parts can be missing. Its content is verified
// when it is read.
type Bundle struct {
	Manifest Manifest
	// Signed reports that the manifest has a valid signature. See [Open].
	Signed bool

	// Damaged describes the damage of parts.
	Damaged []error

	files   []*os.File
	content map[digest.Digest]Content
	// positions maps the available content to its positions.
	positions map[digest.Digest]position
}

// position is the position of content in a file.
type position struct {
	file  *os.File
	start int64
}

// Open opens parts of one bundle, in any order. Names can be patterns, as in
// [filepath.Match]. If verify is not nil, it verifies the
// signature of the manifest before anything else is read, and must return an error if
// the signature is missing or invalid. Open reads only the names in the archives. Use
// [Bundle.Verify] to verify all content. Close the result after use.
//
// If a part is damaged, the bundle contains the content before the damage. See
// [Bundle.Damaged]. If no part has a manifest, or if the parts belong to different
// bundles, the error has the kind [provider.Malformed].
func Open(ctx context.Context, names []string, verify func(document, signature []byte) error) (_ *Bundle, err error) {
	b := &Bundle{Signed: verify != nil, content: map[digest.Digest]Content{}, positions: map[digest.Digest]position{}}
	defer func() {
		if err != nil {
			_ = b.Close()
		}
	}()
	var first []byte
	for _, name := range expand(names) {
		f, err := bounded.OpenFile(name)
		if err != nil {
			return nil, err
		}
		b.files = append(b.files, f)
		archive := tar.NewReader(f)
		manifest, signature, err := readManifest(archive)
		switch {
		case err != nil:
			b.Damaged = append(b.Damaged, fmt.Errorf("reading %s: %w", name, err))
			continue
		case first == nil:
			if err := b.start(manifest, signature, verify); err != nil {
				return nil, fmt.Errorf("reading %s: %w", name, err)
			}
			first = manifest
		case !bytes.Equal(first, manifest):
			return nil, malformed("reading %s: the file belongs to a different bundle than %s", name, b.files[0].Name())
		}
		if err := b.index(ctx, f, archive); err != nil {
			b.Damaged = append(b.Damaged, fmt.Errorf("reading %s: %w", name, err))
		}
	}
	if first == nil {
		return nil, errors.Join(b.Damaged...)
	}
	return b, ctx.Err()
}

// expand replaces patterns by the names of the files that match them.
func expand(names []string) (all []string) {
	for _, name := range names {
		matches, err := filepath.Glob(name)
		if _, missing := os.Lstat(name); missing == nil || err != nil || len(matches) == 0 {
			matches = []string{name}
		}
		all = append(all, matches...)
	}
	return all
}

// start verifies and parses the manifest.
func (b *Bundle) start(manifest, signature []byte, verify func(document, signature []byte) error) (err error) {
	if verify != nil {
		if err := verify(manifest, signature); err != nil {
			return fmt.Errorf("verifying the signature of %s: %w", manifestName, err)
		}
	}
	b.Manifest, err = parseManifest(manifest)
	for _, c := range b.Manifest.Content {
		b.content[c.Digest] = c
	}
	return err
}

// Close closes the files.
func (b *Bundle) Close() error {
	var errs []error
	for _, f := range b.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// readManifest reads the first files of a part: the manifest and its signature. If the
// part has no signature, the signature is nil.
func readManifest(archive *tar.Reader) (manifest, signature []byte, err error) {
	read := func(name string, limit int64) ([]byte, error) {
		h, err := next(archive)
		if err != nil {
			return nil, err
		}
		switch {
		case h.Name == ocispec.ImageLayoutFile && name == signatureName:
			return nil, nil
		case h.Name != name:
			return nil, malformed("not a bundle: expected %s, got %q", name, h.Name)
		case h.Size > limit:
			return nil, &bounded.TooLargeError{Path: h.Name, Limit: limit}
		}
		return io.ReadAll(archive)
	}
	if manifest, err = read(manifestName, maxManifest); err != nil {
		return nil, nil, err
	}
	signature, err = read(signatureName, maxSignature)
	return manifest, signature, err
}

// next returns the header of the next file. It accepts only regular files whose content
// is stored in one piece.
func next(archive *tar.Reader) (*tar.Header, error) {
	h, err := archive.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case err != nil:
		return nil, malformed("invalid archive: %w", err)
	}
	sparse := slices.ContainsFunc(slices.Collect(maps.Keys(h.PAXRecords)), func(key string) bool { return strings.HasPrefix(key, "GNU.sparse.") })
	if h.Typeflag != tar.TypeReg || sparse || h.Size < 0 {
		return nil, malformed("invalid archive: %q is not a regular file", h.Name)
	}
	return h, nil
}

// index records the positions of the content of a part, without reading the content.
func (b *Bundle) index(ctx context.Context, f *os.File, archive *tar.Reader) error {
	seen := map[string]bool{}
	for {
		h, err := next(archive)
		if err := cmp.Or(ctx.Err(), err); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if seen[h.Name] {
			return malformed("invalid archive: duplicate file %q", h.Name)
		}
		if seen[h.Name] = true; h.Name == ocispec.ImageLayoutFile || h.Name == ocispec.ImageIndexFile {
			continue
		}
		c := b.content[digest.NewDigestFromEncoded(digest.SHA256, path.Base(h.Name))]
		if c.Digest == "" || h.Name != blobName(c.Digest) || h.Size != c.Size {
			return malformed("invalid archive: %s doesn't list %q with %d bytes", manifestName, h.Name, h.Size)
		}
		start, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		if info, err := f.Stat(); err != nil || start+h.Size > info.Size() {
			return malformed("invalid archive: the file is truncated")
		}
		b.positions[c.Digest] = position{f, start}
	}
}

// missing returns the numbers of the parts that contain the given content and are not
// available, sorted.
func (b *Bundle) missing(digests ...digest.Digest) (parts []int) {
	for _, d := range digests {
		if _, available := b.positions[d]; !available && len(b.content[d].Parts) > 0 {
			parts = append(parts, b.content[d].Parts[0])
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}
