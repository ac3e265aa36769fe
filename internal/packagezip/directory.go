package packagezip

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/klauspost/compress/zip"
)

const (
	// maxDirectory limits the central directory's size in bytes, which also limits the
	// memory for names. The limit allows the maximum number of entries with more than
	// 100 bytes per name.
	maxDirectory = 16 << 20
	// endWindow is the size of the archive's last part, in which the end record and the
	// zip64 records must be. Other zip readers search a part of the same size.
	endWindow = 65<<10 + lengthEnd64 + lengthLocator
)

// errDirectory is the error for a central directory that is too large.
var errDirectory = archiveError("has a central directory that exceeds %d bytes", maxDirectory)

// ending contains values from the records after the central directory.
type ending struct {
	// start and end are the offsets of the central directory.
	start, end int64
	// base is added to the offsets in the archive. It is nonzero if bytes were inserted
	// at the start of the archive.
	base    int64
	records uint64
	// modulo is set if the number of entries is stored in only 16 bits.
	modulo bool
}

// locate finds the central directory from the last bytes of an archive of the given
// size. The end record that other readers use must be at the archive's end, directly
// after the central directory. Therefore, no data can be hidden between or after the
// records.
func locate(window []byte, size int64) (ending, error) {
	le := binary.LittleEndian
	at := findEnd(window)
	if at < 0 {
		return ending{}, fmt.Errorf("reading the zip directory: %w", zip.ErrFormat)
	}
	b := window[at:]
	if int(le.Uint16(b[20:]))+lengthEnd != len(b) {
		return ending{}, archiveError("does not end with an end-of-central-directory record")
	}
	offset := size - int64(len(b))
	e := ending{end: offset, records: uint64(le.Uint16(b[10:])), modulo: true}
	length, start := uint64(le.Uint32(b[12:])), uint64(le.Uint32(b[16:]))
	if wide := window[:at]; len(wide) >= lengthLocator && le.Uint32(wide[at-lengthLocator:]) == signatureLocator {
		if e.end -= lengthLocator + lengthEnd64; !wideEnd(wide, e.end) {
			return ending{}, archiveError("has damaged zip64 records at its end")
		}
		wide = wide[at-lengthLocator-lengthEnd64:]
		records := le.Uint64(wide[32:])
		if !fits(e.records, math.MaxUint16, records) || !fits(length, math.MaxUint32, le.Uint64(wide[40:])) ||
			!fits(start, math.MaxUint32, le.Uint64(wide[48:])) {
			return ending{}, archiveError("has two different end records")
		}
		e.records, e.modulo = records, false
		length, start = le.Uint64(wide[40:]), le.Uint64(wide[48:])
	}
	if length > maxDirectory {
		return ending{}, errDirectory
	}
	if start > math.MaxInt64 || e.end-int64(length) < int64(start) {
		return ending{}, archiveError("has no central directory at the offset in its end record")
	}
	e.start = e.end - int64(length)
	e.base = e.start - int64(start)
	return e, nil
}

// findEnd returns the offset of the last end record, or -1.
func findEnd(window []byte) int {
	for i := len(window) - lengthEnd; i >= 0; i-- {
		if binary.LittleEndian.Uint32(window[i:]) == signatureEnd {
			return i
		}
	}
	return -1
}

// wideEnd reports whether b ends with a zip64 end record and its locator. at is the end
// record's expected offset.
func wideEnd(b []byte, at int64) bool {
	le := binary.LittleEndian
	if len(b) < lengthEnd64+lengthLocator {
		return false
	}
	b = b[len(b)-lengthEnd64-lengthLocator:]
	locator := b[lengthEnd64:]
	return le.Uint32(b) == signatureEnd64 && le.Uint64(b[4:]) == lengthEnd64-12 &&
		le.Uint32(locator[4:]) == 0 && le.Uint32(locator[16:]) == 1 &&
		le.Uint64(locator[8:]) == uint64(at) //nolint:gosec // b is a part of the archive
}

// fits reports whether a narrow field equals the zip64 field or has all bits set.
func fits(narrow, all, wide uint64) bool {
	return narrow == all || narrow == wide
}

// parseDirectory returns the entries of a central directory. The central directory must
// not contain other data.
func parseDirectory(b []byte, end ending, limits limits) ([]entry, error) {
	var entries []entry
	for len(b) > 0 {
		e, length, problem := parseCentral(b)
		if problem != "" {
			return nil, entryError(e.name, "%s", problem)
		}
		if len(entries) == limits.entries {
			return nil, limits.tooMany()
		}
		e.offset += end.base
		if e.offset < 0 || e.offset >= end.start {
			return nil, entryError(e.name, "has an offset outside the contents of the archive")
		}
		entries = append(entries, e)
		b = b[length:]
	}
	listed := uint64(len(entries))
	// Old archivers store the number of entries modulo 65,536.
	if listed != end.records && (!end.modulo || listed%(1<<16) != end.records) {
		return nil, archiveError("lists %d entries, but its end record specifies %d", listed, end.records)
	}
	return entries, nil
}
