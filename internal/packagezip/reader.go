// Package packagezip validates, hashes, and unpacks the zip archives of provider
// packages. A valid archive unpacks to the same files on every system, regardless of
// how it is read.
//
// There are two ways to read an archive, with the same result: in one pass
// ([HashStream], [UnpackStream]) or with random access ([Open]). Some archives can be
// read only with random access.
package packagezip

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// Reader reads an archive that passed validation.
type Reader struct {
	src    io.ReaderAt
	limits limits
	// entries are sorted by offset.
	entries []stored
}

// stored is an entry with the offset of its content.
type stored struct {
	entry
	content int64
}

// Open reads the central directory and the headers of the archive in src, which has the
// given size in bytes, and validates every entry. It returns up to maxProblems joined
// errors that wrap [ErrArchive]. If src is not a zip archive, it returns
// [zip.ErrFormat].
//
// Contents are verified when they are read.
func Open(src io.ReaderAt, size int64) (*Reader, error) {
	return openLimited(src, size, usualLimits())
}

func openLimited(src io.ReaderAt, size int64, limits limits) (*Reader, error) {
	if size > limits.archive {
		return nil, limits.tooLarge()
	}
	// 1. Find the central directory.
	window := make([]byte, min(size, endWindow))
	if err := readAt(src, window, size-int64(len(window))); err != nil {
		return nil, err
	}
	end, err := locate(window, size)
	if err != nil {
		return nil, err
	}
	if err := checkBase(src, end); err != nil {
		return nil, err
	}
	// 2. Parse the central directory.
	directory := make([]byte, end.end-end.start)
	if err := readAt(src, directory, end.start); err != nil {
		return nil, err
	}
	entries, err := parseDirectory(directory, end, limits)
	if err != nil {
		return nil, err
	}
	if err := check(entries, limits); err != nil {
		return nil, err
	}
	// 3. Compare the central directory with the rest of the archive.
	placed, err := checkLayout(src, entries, end.start)
	if err != nil {
		return nil, err
	}
	return &Reader{src: src, limits: limits, entries: placed}, nil
}

// checkBase checks an archive that is preceded by other bytes. Readers differ in
// whether they add the number of these bytes to the declared offset of the central
// directory. Therefore, checkBase returns an error if the declared offset contains
// another central directory.
func checkBase(src io.ReaderAt, end ending) error {
	if end.base == 0 {
		return nil
	}
	var b [4]byte
	if err := readAt(src, b[:], end.start-end.base); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(b[:]) == signatureCentral {
		return archiveError("has two central directories")
	}
	return nil
}

// Contents hashes the archive in the same way as [HashStream].
func (r *Reader) Contents(ctx context.Context, options ...HashOption) (Contents, error) {
	return consume(ctx, newHasher(options), func(visit visitor) ([]entry, error) { return r.walk(ctx, visit) })
}

// visitor is called with each entry and must read the entry's content to its end. An
// entry whose name ends in a slash has no content.
type visitor func(name string, content io.Reader) error

// walk visits all entries and verifies their contents.
func (r *Reader) walk(ctx context.Context, visit visitor) ([]entry, error) {
	in := newInput(r.limits)
	entries := make([]entry, len(r.entries))
	for i, e := range r.entries {
		entries[i] = e.entry
		in.reset(ctx, io.NewSectionReader(r.src, e.content, int64(e.packed))) //nolint:gosec // checkLayout has checked that the content is inside the archive
		tooLong := entryError(e.name, "exceeds its declared size")
		content := in.open(e.header, e.size, tooLong)
		if err := visit(e.name, content); err != nil {
			return nil, err
		}
		if err := content.problem(e.header); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// byOffset returns the entries sorted by offset.
func byOffset(entries []entry) []entry {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b entry) int { return cmp.Compare(a.offset, b.offset) })
	return sorted
}

// readAt fills b. If bytes are missing, readAt returns an error, because all sizes are
// known.
func readAt(src io.ReaderAt, b []byte, offset int64) error {
	n, err := src.ReadAt(b, offset)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// checkLayout returns the entries with their offsets, or an error if the archive differs
// from its central directory. Local headers must have the same values as the central
// directory, and entries must neither overlap nor leave gaps. Therefore, readers that
// stream the archive get the same result as readers that use the central directory.
func checkLayout(src io.ReaderAt, entries []entry, end int64) ([]stored, error) {
	sorted := byOffset(entries)
	if err := checkPrefix(src, sorted[0].offset); err != nil {
		return nil, err
	}
	placed := make([]stored, len(sorted))
	for i, e := range sorted {
		next := end
		if i+1 < len(sorted) {
			next = sorted[i+1].offset
		}
		begin, err := checkLocal(src, e, next)
		if err != nil {
			return nil, err
		}
		if err := checkRest(src, e, begin, next); err != nil {
			return nil, err
		}
		placed[i] = stored{entry: e, content: begin}
	}
	return placed, nil
}

// checkPrefix returns an error if another archive precedes the first entry, because
// readers differ in which archive they use. A self-extracting program is harmless.
func checkPrefix(src io.ReaderAt, length int64) error {
	b := make([]byte, min(length, 2))
	if err := readAt(src, b, 0); err != nil {
		return err
	}
	if string(b) == "PK" {
		return archiveError("starts with data that is not in its central directory")
	}
	return nil
}

// checkLocal returns the offset of an entry's content, or an error if the entry's local
// header differs from the central directory. next is the offset of the next record.
func checkLocal(src io.ReaderAt, e entry, next int64) (begin int64, err error) {
	fault := func(problem string) (int64, error) {
		return 0, entryError(e.name, "%s", problem)
	}
	if next-e.offset < lengthLocal {
		return fault("overlaps another entry")
	}
	var fixed [lengthLocal]byte
	if err := readAt(src, fixed[:], e.offset); err != nil {
		return 0, err
	}
	if binary.LittleEndian.Uint32(fixed[:]) != signatureLocal {
		return fault("has no local header")
	}
	local, name, extra := parseLocal(fixed[:])
	begin = e.offset + lengthLocal + int64(name+extra)
	if begin > next {
		return fault("overlaps another entry")
	}
	rest := make([]byte, name+extra)
	if err := readAt(src, rest, e.offset+lengthLocal); err != nil {
		return 0, err
	}
	local.name = string(rest[:name])
	if problem := local.widen(rest[name:], nil); problem != "" {
		return fault(problem)
	}
	if problem := disagreement(local, e.header); problem != "" {
		return fault(problem)
	}
	return begin, nil
}

// checkRest returns an error unless an entry's content and descriptor fill the space up
// to the next record.
func checkRest(src io.ReaderAt, e entry, begin, next int64) error {
	room := next - begin
	if e.packed > uint64(room) { //nolint:gosec // checkLocal has compared next and begin
		return entryError(e.name, "overlaps another entry")
	}
	behind := room - int64(e.packed) //nolint:gosec // at most room
	if !e.described() {
		if behind > 0 {
			return entryError(e.name, "is followed by %d bytes that do not belong to an entry", behind)
		}
		return nil
	}
	for _, length := range descriptorLengths {
		if behind != int64(length) {
			continue
		}
		b := make([]byte, length)
		if err := readAt(src, b, next-int64(length)); err != nil {
			return err
		}
		if isDescriptor(b, e.header) {
			return nil
		}
	}
	return entryError(e.name, "has no data descriptor that matches the central directory")
}
