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

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Bundle is an open bundle. Some of its parts can be missing. Its content is verified
// when it is read.
type Bundle struct {
	Manifest Manifest
	// Signed reports whether the manifest has a valid signature. See [Open].
	Signed bool

	// Damaged contains an error for each damaged part.
	Damaged []error

	files   []*os.File
	content map[digest.Digest]Content
	// repositories maps the addresses of the manifest to their repositories.
	repositories map[provider.Address]Repository
	// layout contains the files that follow the manifest and its signature.
	layout []file
	// positions maps the available content to its positions. Small content can be in
	// several parts.
	positions map[digest.Digest][]position
}

// DamagedError reports that a file is damaged, belongs to a different bundle, or isn't
// a part of a bundle.
type DamagedError struct{ Err error }

func (e *DamagedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *DamagedError) Unwrap() error { return e.Err }

func damaged(format string, args ...any) error {
	return &DamagedError{provider.Errorf(provider.Unverified, "%w", fmt.Errorf(format, args...))}
}

type position struct {
	file  *os.File
	start int64
}

// Open opens parts of one bundle, in any order. Names can be patterns, as in
// [filepath.Match], or the name of a bundle that has several parts. If verify is not
// nil, Open calls it to verify the manifest's signature before it reads anything else.
// verify must return an error if the signature is missing or invalid. Open reads only
// the archives' file names and image index, which must match the manifest. Use
// [Bundle.Verify] to verify all content. Close the result after use.
//
// If a part is damaged, the bundle contains the content before the damage. See
// [Bundle.Damaged]. If all parts are damaged, or if they belong to different bundles,
// Open returns a *[DamagedError].
func Open(ctx context.Context, names []string, verify func(document, signature []byte) error) (_ *Bundle, err error) {
	b := &Bundle{Signed: verify != nil, content: map[digest.Digest]Content{}, repositories: map[provider.Address]Repository{}, positions: map[digest.Digest][]position{}}
	defer func() {
		if err != nil {
			_ = b.Close()
		}
	}()
	var first []byte
	var firstName string
	for _, name := range expand(names) {
		f, err := bounded.OpenFile(name)
		if err != nil {
			return nil, err
		}
		b.files = append(b.files, f)
		archive := tar.NewReader(f)
		manifest, signature, following, err := readManifest(archive)
		switch {
		case err != nil:
			b.Damaged = append(b.Damaged, fmt.Errorf("reading %s: %w", name, err))
			continue
		case first == nil:
			if err := b.start(manifest, signature, verify); err != nil {
				return nil, fmt.Errorf("reading %s: %w", name, err)
			}
			first, firstName = manifest, name
		case !bytes.Equal(first, manifest):
			return nil, damaged("reading %s: the file belongs to a different bundle than %s", name, firstName)
		}
		if err := b.index(ctx, f, archive, following); err != nil {
			b.Damaged = append(b.Damaged, fmt.Errorf("reading %s: %w", name, err))
		}
	}
	if first == nil {
		return nil, cmp.Or(append(b.Damaged, malformed("no parts"))...)
	}
	return b, ctx.Err()
}

// expand replaces patterns with the names of the files that match them, and the name of
// a bundle with the names of its parts. See [partName].
func expand(names []string) (all []string) {
	for _, name := range names {
		matches, err := filepath.Glob(name)
		if _, missing := os.Lstat(name); missing == nil || err != nil || len(matches) == 0 {
			matches = []string{name}
			if parts := partsOf(name); missing != nil && len(parts) > 0 {
				matches = parts
			}
		}
		all = append(all, matches...)
	}
	return all
}

// partsOf returns the names of the files that are parts of a bundle, sorted.
func partsOf(name string) (parts []string) {
	dir, base := filepath.Split(name)
	entries, _ := os.ReadDir(cmp.Or(dir, "."))
	for _, e := range entries {
		number, isPart := strings.CutPrefix(e.Name(), strings.TrimSuffix(base, ".tar")+".")
		number, isTar := strings.CutSuffix(number, ".tar")
		if isPart && isTar && number != "" && strings.Trim(number, "0123456789") == "" {
			parts = append(parts, dir+e.Name())
		}
	}
	return parts
}

// start verifies and parses the manifest.
func (b *Bundle) start(manifest, signature []byte, verify func(document, signature []byte) error) (err error) {
	if verify != nil {
		if err := verify(manifest, signature); err != nil {
			return fmt.Errorf("verifying the signature of %s: %w", manifestName, err)
		}
	}
	if b.Manifest, err = parseManifest(manifest); err != nil {
		return err
	}
	for _, c := range b.Manifest.Content {
		b.content[c.Digest] = c
	}
	for _, r := range b.Manifest.Repositories {
		b.repositories[r.address] = r
	}
	b.layout, err = layoutFiles(b.Manifest)
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

// readManifest reads the manifest and its signature, which are the first files of a
// part. If the part has no signature, the signature is nil. readManifest also returns
// the header of the following file.
func readManifest(archive *tar.Reader) (manifest, signature []byte, h *tar.Header, err error) {
	read := func(limit int64) (data []byte, err error) {
		if h.Size > limit {
			return nil, malformed("%s exceeds %d bytes", h.Name, limit)
		}
		if data, err = io.ReadAll(archive); err == nil {
			h, err = next(archive)
		}
		return data, err
	}
	if h, err = next(archive); err == nil && h.Name != manifestName {
		err = malformed("expected %s, got %.100q", manifestName, h.Name)
	}
	if err != nil {
		return nil, nil, nil, &DamagedError{malformed("not a bundle: %w", err)}
	}
	if manifest, err = read(maxManifest); err == nil && h.Name == signatureName {
		signature, err = read(maxSignature)
	}
	if err != nil {
		err = damaged("invalid %s: %w", manifestName, err)
	}
	return manifest, signature, h, err
}

// next returns the header of the next file. It accepts only regular files that are not
// sparse.
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
		return nil, malformed("invalid archive: %.100q is not a regular file", h.Name)
	}
	return h, nil
}

// index records the positions of the content in a part, without reading the content. h
// is the header of the first file after the manifest and its signature.
func (b *Bundle) index(ctx context.Context, f *os.File, archive *tar.Reader, h *tar.Header) error {
	info, err := f.Stat()
	seen := map[string]bool{}
	for err == nil {
		switch n := len(seen); {
		case seen[h.Name]:
			return malformed("invalid archive: duplicate file %.100q", h.Name)
		case n < len(b.layout):
			err = b.layout[n].check(h, archive)
		default:
			err = b.record(f, h, info.Size())
		}
		seen[h.Name] = true
		if err = cmp.Or(ctx.Err(), err); err == nil {
			h, err = next(archive)
		}
	}
	if errors.Is(err, io.EOF) && len(seen) >= len(b.layout) {
		return nil
	}
	return err
}

// check returns an error unless the next file in an archive is identical to f.
func (f file) check(h *tar.Header, archive io.Reader) error {
	if h.Name != f.name || h.Size != int64(len(f.data)) {
		return malformed("invalid archive: expected %s with %d bytes, got %.100q with %d bytes", f.name, len(f.data), h.Name, h.Size)
	}
	if data, err := io.ReadAll(archive); err != nil || !bytes.Equal(data, f.data) {
		return malformed("invalid archive: %s doesn't match %s", f.name, manifestName)
	}
	return nil
}

// record records the position of content in the part f, which has the given size.
func (b *Bundle) record(f *os.File, h *tar.Header, size int64) error {
	c := b.content[digest.NewDigestFromEncoded(digest.SHA256, path.Base(h.Name))]
	if c.Digest == "" || h.Name != blobName(c.Digest) || h.Size != c.Size {
		return malformed("invalid archive: %s doesn't list %.100q with %d bytes", manifestName, h.Name, h.Size)
	}
	start, err := f.Seek(0, io.SeekCurrent)
	if err == nil && start+h.Size > size {
		err = malformed("invalid archive: the file is truncated")
	}
	if err == nil {
		b.positions[c.Digest] = append(b.positions[c.Digest], position{f, start})
	}
	return err
}

// open opens the first intact copy of content in the available parts. It reads content
// only to choose between copies. If no part contains the content, it returns nil.
func (b *Bundle) open(ctx context.Context, d digest.Digest) (content *io.SectionReader) {
	copies := b.positions[d]
	for i, at := range copies {
		content = io.NewSectionReader(at.file, at.start, b.content[d].Size)
		if i == len(copies)-1 || verify(ctx, content, d) == nil {
			break
		}
	}
	if content != nil {
		_, _ = content.Seek(0, io.SeekStart)
	}
	return content
}

// verify reads content and returns an error if it has a different digest.
func verify(ctx context.Context, content *io.SectionReader, d digest.Digest) error {
	_, err := io.Copy(io.Discard, sums.NewReader(bounded.Reader(ctx, content), d.String(), content.Size(), d))
	return err
}

// MissingParts returns the sorted numbers of unavailable parts that are needed for the
// given content. Without arguments, it considers all content.
func (b *Bundle) MissingParts(digests ...digest.Digest) (parts []int) {
	if len(digests) == 0 {
		digests = slices.Collect(maps.Keys(b.content))
	}
	for _, d := range digests {
		if len(b.positions[d]) == 0 && len(b.content[d].Parts) > 0 {
			parts = append(parts, b.content[d].Parts[0])
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}
