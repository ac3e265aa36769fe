package packagezip_test

import (
	"encoding/binary"
	"math"
	"strings"
)

// addHostileEnds adds misleading end records.
func addHostileEnds(s suite) {
	u64 := binary.LittleEndian.PutUint64
	ends := map[string]func(*ending){
		"one record more":              func(e *ending) { e.records++ },
		"one record less":              func(e *ending) { e.records-- },
		"no records":                   func(e *ending) { e.records = 0 },
		"size more":                    func(e *ending) { e.size++ },
		"size less":                    func(e *ending) { e.size-- },
		"size of one record":           func(e *ending) { e.size = 60 },
		"size 0":                       func(e *ending) { e.size = 0 },
		"offset more":                  func(e *ending) { e.offset++ },
		"offset less":                  func(e *ending) { e.offset-- },
		"offset 0":                     func(e *ending) { e.offset = 0 },
		"offset huge":                  func(e *ending) { e.offset = math.MaxUint32 },
		"all maxed without zip64":      func(e *ending) { e.maxed = true },
		"comment longer than declared": func(e *ending) { e.comment, e.commentLength = "comment", 3 },
		"comment cut":                  func(e *ending) { e.comment, e.commentLength = "comment", 30 },
		"end record in the comment":    func(e *ending) { e.comment = "PK\x05\x06" + strings.Repeat("\x00", 18) },
		"zip64: other records":         func(e *ending) { e.wide = true; e.change64 = func(b []byte) { u64(b[32:], 3) } },
		"zip64: other records, maxed":  func(e *ending) { e.wide, e.maxed = true, true; e.change64 = func(b []byte) { u64(b[32:], 3) } },
		"zip64: 65536 records more":    func(e *ending) { e.wide, e.maxed = true, true; e.change64 = func(b []byte) { u64(b[32:], 65540) } },
		"zip64: other size":            func(e *ending) { e.wide, e.maxed = true, true; e.change64 = func(b []byte) { u64(b[40:], 40) } },
		"zip64: size huge":             func(e *ending) { e.wide, e.maxed = true, true; e.change64 = func(b []byte) { u64(b[40:], 1<<63) } },
		"zip64: other offset":          func(e *ending) { e.wide, e.maxed = true, true; e.change64 = func(b []byte) { u64(b[48:], 40) } },
		"zip64: offset huge":           func(e *ending) { e.wide, e.maxed = true, true; e.change64 = func(b []byte) { u64(b[48:], 1<<63) } },
		"zip64: no record":             func(e *ending) { e.wide, e.maxed = true, true; e.change64 = func(b []byte) { b[0]++ } },
		"zip64: longer record":         func(e *ending) { e.wide, e.maxed = true, true; e.change64 = func(b []byte) { b[4]++ } },
		"zip64: no locator":            func(e *ending) { e.wide, e.maxed = true, true; e.change64 = func(b []byte) { b[56]++ } },
		"zip64: no locator, not maxed": func(e *ending) { e.wide = true; e.change64 = func(b []byte) { b[56]++ } },
		"zip64: locator elsewhere":     func(e *ending) { e.wide, e.maxed = true, true; e.change64 = func(b []byte) { b[64]++ } },
		"zip64: locator of disk 1":     func(e *ending) { e.wide, e.maxed = true, true; e.change64 = func(b []byte) { b[60]++ } },
		"zip64: locator of two disks":  func(e *ending) { e.wide, e.maxed = true, true; e.change64 = func(b []byte) { b[72]++ } },
	}
	for name, end := range ends {
		f := plain()
		f.end = end
		want := fallbackRefuses
		switch name {
		case "one record more", "one record less", "no records", "zip64: other records, maxed", "zip64: 65536 records more":
			want = neither
		}
		s.add(want, "end: "+name, f)
	}
	s.add(fallbackRefuses, "two directories, with or without the prefix", twoDirectories())
	f := plain()
	first := uint64(46 + len(f.entries[0].name))
	f.end = func(e *ending) { e.records, e.size, e.offset = e.records-1, e.size-first, e.offset+first }
	s.add(fallbackRefuses, "end: the first record is omitted", f)
	f = plain()
	f.shift = 5
	s.add(fallbackRefuses, "offsets of a missing script", f)
}

// twoDirectories returns an archive that follows a script. The last file is as long as
// the script and contains a second central directory. Without the script, the real
// central directory would be at the same offset.
func twoDirectories() *forge {
	other := &forge{}
	other.central(record{name: "evil", attributes: unixFile << 16})
	content := other.out.String()
	f := with(3, func(e *forged) { e.content = content })
	f.prefix = "#!" + strings.Repeat(" ", len(content)-2)
	return f
}
