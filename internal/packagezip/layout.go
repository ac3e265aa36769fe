package packagezip

import (
	"encoding/binary"
	"io"
)

// layOut holds the archive up to its directory against what the directory says:
// each local header tells the same, entries touch and don't overlap. Who reads
// the archive from front to back has to see what others see.
func layOut(src io.ReaderAt, entries []entry, end int64) ([]stored, error) {
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

// checkPrefix looks at bytes in front of the first entry. A program that unpacks
// itself is harmless; another archive is not, as readers differ in which of the
// two they take.
func checkPrefix(src io.ReaderAt, length int64) error {
	b := make([]byte, min(length, 2))
	if err := readAt(src, b, 0); err != nil {
		return err
	}
	if string(b) == "PK" {
		return archiveError("begins with what is not in its directory")
	}
	return nil
}

// checkLocal compares an entry's local header with the directory and gives where
// the content begins. Next is where something else begins.
func checkLocal(src io.ReaderAt, e entry, next int64) (begin int64, err error) {
	fault := func(problem string) (int64, error) {
		return 0, entryError(e.name, "%s", problem)
	}
	if next-e.offset < lengthLocal {
		return fault("overlaps with another")
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
		return fault("overlaps with another")
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

// checkRest looks at what lies between the beginning of an entry's content and
// the next entry: the content and its descriptor, no byte more or less.
func checkRest(src io.ReaderAt, e entry, begin, next int64) error {
	room := next - begin
	if e.packed > uint64(room) { //nolint:gosec // checkLocal has compared next and begin
		return entryError(e.name, "overlaps with another")
	}
	behind := room - int64(e.packed) //nolint:gosec // it is no more than room
	if !e.described() {
		if behind > 0 {
			return entryError(e.name, "has %d bytes behind it that belong to no entry", behind)
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
	return entryError(e.name, "has no data descriptor that agrees with the directory")
}
