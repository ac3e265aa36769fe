package packagezip_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"

	"github.com/klauspost/compress/flate"
)

// record contains the values of a header. They can be invalid.
type record struct {
	name, comment string
	flags, method uint16
	crc           uint32
	packed, size  uint64
	extra         []byte
	// wide moves the sizes to a zip64 field. In the central directory, it also moves
	// the offset.
	wide bool

	madeBy     uint16
	attributes uint32
	offset     uint64
}

// descriptor is the format of a data descriptor.
type descriptor struct {
	length int // 12, 16, 20, or 24; 0 for none
	change func(*record)
}

// forged is an entry of a forged archive. If only required fields are set, the entry is
// valid.
type forged struct {
	name, content string
	stored        bool
	mode          uint32 // the Unix mode; if 0, the mode of a normal file or directory
	descriptor    descriptor
	// both, local, and central are called in this order to change the records. Each can
	// be nil.
	both, local, central func(*record)
	// raw, if not nil, replaces the compressed bytes.
	raw func(packed []byte) []byte
	// before and behind are bytes before the local header and after the descriptor.
	before, behind string
	// unlisted omits the entry from the central directory, and twice lists the entry
	// twice.
	unlisted, twice bool
}

// forge writes an archive byte by byte.
type forge struct {
	prefix  string
	entries []forged
	// shift is added to all offsets.
	shift uint64
	// reversed reverses the order of the central directory.
	reversed bool
	// between contains the bytes before the central directory, and gap the bytes after
	// it.
	between, gap string
	end          func(*ending)
	trailing     string

	out bytes.Buffer
	// seams are the offsets at which records and contents start.
	seams []int
}

const (
	unixFile = 0o100644
	unixDir  = 0o040755
	unixExec = 0o100755
)

// zip returns the archive. It must be called only once.
func (f *forge) zip() []byte {
	f.out.WriteString(f.prefix)
	var listed []record
	for _, e := range f.entries {
		r := f.entry(e)
		if !e.unlisted {
			listed = append(listed, r)
		}
		if e.twice {
			listed = append(listed, r)
		}
	}
	if f.reversed {
		slices.Reverse(listed)
	}
	f.out.WriteString(f.between)
	start := f.out.Len()
	for _, r := range listed {
		f.seam()
		f.central(r)
	}
	size := f.out.Len() - start
	f.out.WriteString(f.gap)
	end := ending{
		records: uint64(len(listed)), size: uint64(size),
		offset: uint64(start) - uint64(len(f.prefix)) + f.shift, commentLength: -1,
	}
	if f.end != nil {
		f.end(&end)
	}
	f.ending(end)
	f.out.WriteString(f.trailing)
	f.seam()
	return f.out.Bytes()
}

func (f *forge) seam() { f.seams = append(f.seams, f.out.Len()) }

// entry writes an entry and returns its record for the central directory.
func (f *forge) entry(e forged) record {
	f.seam()
	f.out.WriteString(e.before)
	r := record{
		name: e.name, crc: crc32.ChecksumIEEE([]byte(e.content)), size: uint64(len(e.content)),
		madeBy: 3<<8 | 20, attributes: e.mode << 16,
		offset: uint64(f.out.Len()) - uint64(len(f.prefix)) + f.shift,
	}
	if e.mode == 0 {
		r.attributes = unixFile << 16
		if len(e.name) > 0 && e.name[len(e.name)-1] == '/' {
			r.attributes = unixDir << 16
		}
	}
	packed := []byte(e.content)
	if !e.stored {
		r.method = 8
		packed = deflateBytes(packed)
	}
	if e.raw != nil {
		packed = e.raw(packed)
	}
	r.packed = uint64(len(packed))
	if e.descriptor.length > 0 {
		r.flags |= 1 << 3
	}
	change(e.both, &r)
	local := r
	if e.descriptor.length > 0 {
		local.crc, local.packed, local.size = 0, 0, 0
	}
	change(e.local, &local)
	f.local(local)
	f.seam()
	f.out.Write(packed)
	f.seam()
	described := r
	change(e.descriptor.change, &described)
	f.describe(e.descriptor.length, described)
	f.out.WriteString(e.behind)
	change(e.central, &r)
	return r
}

func change(by func(*record), r *record) {
	if by != nil {
		by(r)
	}
}

func deflateBytes(content []byte) []byte {
	var b bytes.Buffer
	// Writing to a buffer cannot fail, and the level is valid.
	w, _ := flate.NewWriter(&b, flate.BestCompression)
	_, _ = w.Write(content)
	_ = w.Close()
	return b.Bytes()
}

// put writes numbers with the sizes of their types.
func (f *forge) put(values ...any) {
	b, le := f.out.AvailableBuffer(), binary.LittleEndian
	for _, value := range values {
		switch v := value.(type) {
		case uint16:
			b = le.AppendUint16(b, v)
		case uint32:
			b = le.AppendUint32(b, v)
		case uint64:
			b = le.AppendUint64(b, v)
		}
	}
	f.out.Write(b)
}

func (f *forge) local(r record) {
	packed, size, extra := r.packed, r.size, r.extra
	if r.wide {
		extra = append(field64(size, packed), extra...)
		packed, size = math.MaxUint32, math.MaxUint32
	}
	f.put(uint32(0x04034b50), uint16(20), r.flags, r.method, uint16(0), uint16(0), r.crc)
	f.put(uint32(packed), uint32(size), uint16(len(r.name)), uint16(len(extra)))
	f.out.WriteString(r.name)
	f.out.Write(extra)
}

func (f *forge) central(r record) {
	packed, size, offset, extra := r.packed, r.size, r.offset, r.extra
	if r.wide {
		extra = append(field64(size, packed, offset), extra...)
		packed, size, offset = math.MaxUint32, math.MaxUint32, math.MaxUint32
	}
	f.put(uint32(0x02014b50), r.madeBy, uint16(20), r.flags, r.method, uint16(0), uint16(0), r.crc)
	f.put(uint32(packed), uint32(size), uint16(len(r.name)), uint16(len(extra)), uint16(len(r.comment)))
	f.put(uint16(0), uint16(0), r.attributes, uint32(offset))
	f.out.WriteString(r.name)
	f.out.Write(extra)
	f.out.WriteString(r.comment)
}

// field64 returns a zip64 extra field.
func field64(values ...uint64) []byte {
	b := binary.LittleEndian.AppendUint16(nil, 1)
	b = binary.LittleEndian.AppendUint16(b, uint16(8*len(values)))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func (f *forge) describe(length int, r record) {
	if length == 16 || length == 24 {
		f.put(uint32(0x08074b50))
	}
	switch length {
	case 12, 16:
		f.put(r.crc, uint32(r.packed), uint32(r.size))
	case 20, 24:
		f.put(r.crc, r.packed, r.size)
	}
}
