package packagezip_test

import "math"

// ending is the end record of a forged archive.
type ending struct {
	records, size, offset uint64
	comment               string
	// commentLength is the declared length of the comment.
	commentLength int
	// wide adds zip64 records. maxed sets the fields of the normal end record to their
	// maximum values.
	wide, maxed bool
	// change64, if not nil, changes the zip64 records of 56 and 20 bytes.
	change64 func([]byte)
}

func (f *forge) ending(e ending) {
	if e.wide {
		f.seam()
		at := uint64(f.out.Len())
		f.put(uint32(0x06064b50), uint64(44), uint16(45), uint16(45), uint32(0), uint32(0))
		f.put(e.records, e.records, e.size, e.offset)
		f.seam()
		f.put(uint32(0x07064b50), uint32(0), at, uint32(1))
		if e.change64 != nil {
			e.change64(f.out.Bytes()[at:])
		}
	}
	if e.maxed {
		e.records, e.size, e.offset = math.MaxUint16, math.MaxUint32, math.MaxUint32
	}
	if e.commentLength < 0 {
		e.commentLength = len(e.comment)
	}
	f.seam()
	f.put(uint32(0x06054b50), uint16(0), uint16(0), uint16(e.records), uint16(e.records))
	f.put(uint32(e.size), uint32(e.offset), uint16(e.commentLength))
	f.out.WriteString(e.comment)
}
