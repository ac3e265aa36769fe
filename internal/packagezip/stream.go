package packagezip

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zip"
)

// NotStreamableError means that an archive is ambiguous if it is read in one pass.
// [Open] determines whether the archive is valid.
type NotStreamableError struct {
	// Offset is the archive offset at which reading stopped.
	Offset int64
	// Reason explains why reading stopped. It has no final period.
	Reason string
}

func (e *NotStreamableError) Error() string {
	return fmt.Sprintf("the zip archive cannot be read as a stream beyond byte %d: %s", e.Offset, e.Reason)
}

// stream reads an archive in one pass.
type stream struct {
	in     *input
	limits limits
	tree   *tree
	// seen maps offsets to the entries read so far.
	seen map[int64]arrived
	// left is the remaining limit for the size of contents, in bytes.
	left uint64
	// listing is the minimum size of the central directory for the entries read so far.
	listing int
}

// arrived contains an entry's local header and the entry's actual values.
type arrived struct {
	local, actual header
}

// walkStream visits the entries of an archive and reads src to its end. The caller must
// not use the visited contents before walkStream has returned without an error.
//
// Errors from src take precedence over errors about the archive, because the received
// bytes might be wrong. Therefore, walkStream reads the rest of src even if the archive
// is invalid.
func walkStream(ctx context.Context, src io.Reader, limits limits, visit visitor) ([]entry, error) {
	s := &stream{in: newInput(limits), limits: limits, tree: newTree(), seen: map[int64]arrived{}, left: limits.contents}
	s.in.reset(ctx, src)
	entries, err := s.walk(visit)
	if errors.Is(err, ErrArchive) {
		if _, failure := io.Copy(io.Discard, s.in.buffer); failure != nil {
			return nil, failure
		}
	}
	return entries, err
}

func (s *stream) walk(visit visitor) ([]entry, error) {
	for {
		b, err := s.in.buffer.Peek(4)
		if err != nil {
			return nil, s.in.short("")
		}
		switch binary.LittleEndian.Uint32(b) {
		case signatureLocal:
			if err := s.entry(visit); err != nil {
				return nil, err
			}
		case signatureCentral, signatureEnd, signatureEnd64:
			s.tree = nil // check adds all names again
			return s.directory()
		default:
			return nil, s.guess("expected the start of an entry")
		}
	}
}

func (s *stream) guess(reason string) error {
	return &NotStreamableError{Offset: s.in.offset(), Reason: reason}
}

// entry reads one entry, from its header to its descriptor.
func (s *stream) entry(visit visitor) error {
	// 1. Read the local header.
	offset := s.in.offset()
	h, err := s.header()
	if err != nil {
		return err
	}
	if err := s.accept(h); err != nil {
		return err
	}
	// 2. Read the content.
	limit, tooLong := s.left, s.limits.tooMuch()
	switch {
	case h.isDirectory():
		limit, tooLong = 0, entryError(h.name, "is a directory with contents")
	case h.described():
	case h.size > s.left:
		return tooLong
	default:
		limit, tooLong = h.size, entryError(h.name, "exceeds its declared size")
	}
	content := s.in.open(h, limit, tooLong)
	if err := visit(h.name, content); err != nil {
		return err
	}
	// 3. Read the data descriptor.
	actual := h
	if h.described() {
		actual.crc, actual.size, actual.packed = content.crc, content.size, content.packed()
		if err := s.descriptor(actual); err != nil {
			return err
		}
	} else if err := content.problem(h); err != nil {
		return err
	}
	s.left -= actual.size
	s.seen[offset] = arrived{local: h, actual: actual}
	return nil
}

// header reads a local header.
func (s *stream) header() (header, error) {
	var fixed [lengthLocal]byte
	if _, err := io.ReadFull(s.in.buffer, fixed[:]); err != nil {
		return header{}, s.in.short("")
	}
	h, name, extra := parseLocal(fixed[:])
	rest := make([]byte, name+extra)
	if _, err := io.ReadFull(s.in.buffer, rest); err != nil {
		return header{}, s.in.short("")
	}
	h.name = string(rest[:name])
	if problem := h.widen(rest[name:], nil); problem != "" {
		return header{}, entryError(h.name, "%s", problem)
	}
	return h, nil
}

// accept returns an error if a header violates a rule that doesn't depend on the
// central directory.
func (s *stream) accept(h header) error {
	if len(s.seen) == s.limits.entries {
		return s.limits.tooMany()
	}
	problem := checkPacking(h)
	if problem == "" {
		problem = s.tree.check(h.name)
	}
	if problem != "" {
		return entryError(h.name, "%s", problem)
	}
	if len(s.tree.nodes) > s.limits.entries {
		return s.limits.tooMany()
	}
	if s.listing += lengthCentral + len(h.name); s.listing > maxDirectory {
		return errDirectory
	}
	// A directory has no content, even if a data descriptor contains its size.
	if h.described() && h.method == zip.Store && (!h.isDirectory() || h.packed != 0) {
		return s.guess("a stored entry whose size is in a data descriptor")
	}
	return nil
}

// descriptor reads an entry's data descriptor, which does not declare its length. For
// each possible length, the method checks the values and the following bytes.
func (s *stream) descriptor(h header) error {
	const following = 4
	b, _ := s.in.buffer.Peek(descriptorLengths[len(descriptorLengths)-1] + following)
	if err := s.in.failure(); err != nil {
		return err
	}
	found := 0
	for _, length := range descriptorLengths {
		if len(b) < length+following || !isDescriptor(b[:length], h) {
			continue
		}
		switch binary.LittleEndian.Uint32(b[length:]) {
		case signatureLocal, signatureCentral:
			// Two lengths can match only if the CRC-32 and the size look like the start
			// of a descriptor.
			if found != 0 {
				return s.guess("a data descriptor with two possible lengths")
			}
			found = length
		}
	}
	if found == 0 {
		return entryError(h.name, "has no data descriptor that matches its content")
	}
	_, err := s.in.buffer.Discard(found)
	return err
}
