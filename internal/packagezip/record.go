package packagezip

import (
	"encoding/binary"
	"io/fs"
	"math"
	"strings"

	"github.com/klauspost/compress/zip"
)

// Signatures of the records in a zip archive (APPNOTE.TXT 4.3).
const (
	signatureLocal      = 0x04034b50
	signatureCentral    = 0x02014b50
	signatureEnd        = 0x06054b50
	signatureEnd64      = 0x06064b50
	signatureLocator    = 0x07064b50
	signatureDescriptor = 0x08074b50
)

// Sizes of the records without names, extra fields, and comments.
const (
	lengthLocal   = 30
	lengthCentral = 46
	lengthEnd     = 22
	lengthEnd64   = 56
	lengthLocator = 20
)

// extra64 is the ID of the extra field for zip64 values (4.5.3).
const extra64 = 1

// header contains the values that are in both the local header and the central
// directory.
type header struct {
	name          string
	flags, method uint16
	crc           uint32
	packed, size  uint64
}

// entry is an entry in the central directory, which also specifies the entry's mode and
// type.
type entry struct {
	header
	madeBy     uint16
	attributes uint32
	offset     int64
}

func (h *header) isDirectory() bool { return strings.HasSuffix(h.name, "/") }

// described reports whether a data descriptor with the CRC-32 and the sizes follows the
// content.
func (h *header) described() bool { return h.flags&flagDescribed != 0 }

// mode returns the entry's mode as interpreted by the standard library's zip package.
func (e entry) mode() fs.FileMode {
	file := zip.FileHeader{Name: e.name, CreatorVersion: e.madeBy, ExternalAttrs: e.attributes}
	return file.Mode()
}

// parseLocal parses the fixed part of a local header and returns the lengths of the
// name and the extra field.
func parseLocal(b []byte) (h header, name, extra int) {
	le := binary.LittleEndian
	h = header{
		flags:  le.Uint16(b[6:]),
		method: le.Uint16(b[8:]),
		crc:    le.Uint32(b[14:]),
		packed: uint64(le.Uint32(b[18:])),
		size:   uint64(le.Uint32(b[22:])),
	}
	return h, int(le.Uint16(b[26:])), int(le.Uint16(b[28:]))
}

// parseCentral parses the first record of a central directory and returns its length.
// If b does not start with a record, length is 0.
func parseCentral(b []byte) (e entry, length int, problem string) {
	le := binary.LittleEndian
	if len(b) < lengthCentral || le.Uint32(b) != signatureCentral {
		return entry{}, 0, "has a damaged central directory"
	}
	name, extra, comment := int(le.Uint16(b[28:])), int(le.Uint16(b[30:])), int(le.Uint16(b[32:]))
	length = lengthCentral + name + extra + comment
	if len(b) < length {
		return entry{}, 0, "has a truncated central directory"
	}
	e = entry{
		header: header{
			name:   string(b[lengthCentral : lengthCentral+name]),
			flags:  le.Uint16(b[8:]),
			method: le.Uint16(b[10:]),
			crc:    le.Uint32(b[16:]),
			packed: uint64(le.Uint32(b[20:])),
			size:   uint64(le.Uint32(b[24:])),
		},
		madeBy:     le.Uint16(b[4:]),
		attributes: le.Uint32(b[38:]),
	}
	offset := uint64(le.Uint32(b[42:]))
	problem = e.widen(b[lengthCentral+name:lengthCentral+name+extra], &offset)
	switch {
	case problem != "":
	case e.packed == math.MaxUint32 || offset == math.MaxUint32:
		problem = "has no size or offset in the central directory"
	case offset > math.MaxInt64:
		problem = "has an offset beyond the maximum size of an archive"
	default:
		e.offset = int64(offset)
	}
	return e, length, problem
}

// widen replaces values that exceed 32 bits with values from the zip64 extra field. A
// local header has no offset.
func (h *header) widen(extra []byte, offset *uint64) (problem string) {
	field, problem := find64(extra)
	if problem != "" || field == nil {
		return problem
	}
	for _, value := range []*uint64{&h.size, &h.packed, offset} {
		if value == nil || *value != math.MaxUint32 {
			continue
		}
		if len(field) < 8 {
			return "has a zip64 field that is too short"
		}
		*value = binary.LittleEndian.Uint64(field)
		field = field[8:]
	}
	return ""
}

// find64 returns the zip64 field from the extra fields, or nil. Like other zip readers,
// it skips bytes that are not a field.
func find64(extra []byte) (field []byte, problem string) {
	for len(extra) >= 4 {
		kind, size := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if extra = extra[4:]; len(extra) < size {
			break
		}
		if kind == extra64 {
			if field != nil {
				return nil, "has two zip64 fields"
			}
			field = extra[:size:size]
		}
		extra = extra[size:]
	}
	return field, ""
}

// disagreement describes the difference between a local header and the central
// directory, or returns an empty string. If they differ, readers that use the local
// headers see a different archive than readers that use the central directory.
func disagreement(local, central header) string {
	const compared = flagEncrypted | flagDescribed | flagStrongEncrypted | flagMasked
	switch {
	case local.name != central.name:
		return "has a different name in its local header"
	case local.method != central.method:
		return "has a different compression method in its local header"
	case (local.flags^central.flags)&compared != 0:
		return "has different flags in its local header"
	}
	// If a data descriptor follows the data, the local header can omit the CRC-32 and
	// the sizes.
	open := local.described()
	unknown := func(size uint64) bool { return open && (size == 0 || size == math.MaxUint32) }
	switch {
	case local.crc != central.crc && (!open || local.crc != 0):
		return "has a different CRC-32 in its local header"
	case local.packed != central.packed && !unknown(local.packed),
		local.size != central.size && !unknown(local.size):
		return "has a different size in its local header"
	}
	return ""
}

// descriptorLengths contains the possible lengths of a data descriptor (4.3.9). Sizes
// have 32 or 64 bits, and the signature is optional. Each combination has a different
// length.
var descriptorLengths = [...]int{12, 16, 20, 24}

// isDescriptor reports whether b is the entry's data descriptor. b must have one of the
// lengths in descriptorLengths.
func isDescriptor(b []byte, h header) bool {
	le := binary.LittleEndian
	if len(b) == 16 || len(b) == 24 {
		if le.Uint32(b) != signatureDescriptor {
			return false
		}
		b = b[4:]
	}
	switch len(b) {
	case 12:
		return le.Uint32(b) == h.crc && uint64(le.Uint32(b[4:])) == h.packed && uint64(le.Uint32(b[8:])) == h.size
	case 20:
		return le.Uint32(b) == h.crc && le.Uint64(b[4:]) == h.packed && le.Uint64(b[12:]) == h.size
	}
	return false
}
