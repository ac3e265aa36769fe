package packagezip

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zip"
)

// NotStreamableError says why an archive can't be read from front to back, or
// not without taking a guess. It says nothing against the archive: [Open] has
// the last word.
type NotStreamableError struct {
	// Offset is where in the archive the reading ended.
	Offset int64
	// Reason is a sentence without its full stop.
	Reason string
}

func (e *NotStreamableError) Error() string {
	return fmt.Sprintf("the zip archive can't be read from front to back, at byte %d: %s", e.Offset, e.Reason)
}

// stream reads an archive once, from front to back.
type stream struct {
	in     *input
	limits limits
	tree   *tree
	// seen are the entries that came, by where they lie.
	seen map[int64]arrived
	// left is how much may still come out of the archive.
	left uint64
	// listing is how large the directory has to be at least.
	listing int
}

// arrived is what came of an entry: its local header, and what it turned out to
// be.
type arrived struct {
	local, actual header
}

// walkStream visits the entries of an archive as they arrive and reads src to
// its end. While it does, an entry is a file without a meaning: what visit did
// with it counts only when walkStream has returned the entries without an error.
//
// An error of src is worth more than any of the archive, as the bytes may not be
// those that were promised: the rest of src is read to learn of one.
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
			s.tree = nil // names are checked once more, and would be there twice
			return s.directory()
		default:
			return nil, s.guess("no entry begins here")
		}
	}
}

func (s *stream) guess(reason string) error {
	return &NotStreamableError{Offset: s.in.offset(), Reason: reason}
}

// entry reads one entry, from its header to its descriptor.
func (s *stream) entry(visit visitor) error {
	// 1. What is said before the content.
	offset := s.in.offset()
	h, err := s.header()
	if err != nil {
		return err
	}
	if err := s.accept(h); err != nil {
		return err
	}
	// 2. The content.
	limit, tooLong := s.left, s.limits.tooMuch()
	switch {
	case h.isDirectory():
		limit, tooLong = 0, entryError(h.name, "is a directory with contents")
	case h.described():
	case h.size > s.left:
		return tooLong
	default:
		limit, tooLong = h.size, entryError(h.name, "has more bytes than it declares")
	}
	content := s.in.open(h, limit, tooLong)
	if err := visit(h.name, content); err != nil {
		return err
	}
	// 3. What is said after it.
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

// accept holds what a header says against the rules, as far as they can be held
// before the directory comes.
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
	// A directory has no content, wherever its size stands.
	if h.described() && h.method == zip.Store && (!h.isDirectory() || h.packed != 0) {
		return s.guess("a stored entry whose size stands behind it")
	}
	return nil
}

// descriptor passes over the data descriptor of an entry. Which of the forms it
// has is nowhere said: the values and what follows have to agree.
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
			// Only where CRC-32 and size are what a descriptor begins with.
			if found != 0 {
				return s.guess("a data descriptor of two possible lengths")
			}
			found = length
		}
	}
	if found == 0 {
		return entryError(h.name, "has no data descriptor that agrees with its content")
	}
	_, err := s.in.buffer.Discard(found)
	return err
}
