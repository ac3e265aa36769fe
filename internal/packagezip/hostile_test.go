package packagezip_test

import (
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"testing"
)

func crcOf(content string) uint32 { return crc32.ChecksumIEEE([]byte(content)) }

func packedOf(content string) uint64 {
	return uint64(len(deflateBytes([]byte(content))))
}

// TestHostileArchives covers archives that readers can interpret differently, and
// archives that are dangerous to unpack.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	s := suite{}
	addLies(s)
	addHostileNames(s)
	addHostileForms(s)
	addHostileLayouts(s)
	addHostileEnds(s)
	s.run(t, 150)
}

// addLies adds headers that contradict each other or the content.
func addLies(s suite) {
	changes := map[string]func(*record){
		"name":         func(r *record) { r.name = "terraform-provider-y_v1.0.0" },
		"longer name":  func(r *record) { r.name += "x" },
		"no name":      func(r *record) { r.name = "" },
		"method":       func(r *record) { r.method ^= 8 },
		"CRC-32":       func(r *record) { r.crc++ },
		"CRC-32 of 0":  func(r *record) { r.crc = 0 },
		"more":         func(r *record) { r.size++ },
		"less":         func(r *record) { r.size-- },
		"nothing":      func(r *record) { r.size = 0 },
		"huge":         func(r *record) { r.size = 1 << 62; r.wide = true },
		"packed more":  func(r *record) { r.packed++ },
		"packed less":  func(r *record) { r.packed-- },
		"packed 0":     func(r *record) { r.packed = 0 },
		"packed huge":  func(r *record) { r.packed = 1 << 63; r.wide = true },
		"encrypted":    func(r *record) { r.flags ^= 1 },
		"described":    func(r *record) { r.flags ^= 1 << 3 },
		"strong":       func(r *record) { r.flags ^= 1 << 6 },
		"masked":       func(r *record) { r.flags ^= 1 << 13 },
		"two zip64":    func(r *record) { r.wide = true; r.extra = field64(1, 2, 3) },
		"zip64 twice":  func(r *record) { r.wide = true; r.extra = field64(r.size, r.packed, r.offset) },
		"zip64 cut":    func(r *record) { r.size = math.MaxUint32; r.extra = []byte{1, 0, 4, 0, 1, 2, 3, 4} },
		"zip64 absent": func(r *record) { r.packed, r.size = math.MaxUint32, math.MaxUint32 },
	}
	for name, change := range changes {
		for _, length := range []int{0, 16, 20} {
			local, central := neither, neither
			switch {
			case length > 0 && (name == "CRC-32 of 0" || name == "packed 0" || name == "nothing" || name == "zip64 absent"):
				local = both
			case length > 0 && (name == "method" || name == "described"):
				// The entry would be stored with a descriptor, or its descriptor
				// doesn't belong to any entry.
				local = fallbackRefuses
			}
			honest := func(r *record, e *forged) {
				r.crc, r.packed, r.size = crcOf(e.content), packedOf(e.content), uint64(len(e.content))
			}
			s.add(local, fmt.Sprintf("local %s, descriptor %d", name, length), with(0, func(e *forged) {
				e.descriptor.length = length
				e.local = func(r *record) { honest(r, e); change(r) }
			}))
			s.add(central, fmt.Sprintf("central %s, descriptor %d", name, length), with(0, func(e *forged) {
				e.descriptor.length = length
				e.central = change
			}))
		}
	}
	for name, change := range map[string]func(*record){
		"CRC-32": changes["CRC-32"], "more": changes["more"], "packed less": changes["packed less"], "huge": func(r *record) { r.size += 1 << 32 },
	} {
		for _, length := range []int{12, 16, 20, 24} {
			if name == "huge" && length < 20 {
				continue // the value exceeds 32 bits
			}
			s.add(neither, fmt.Sprintf("descriptor %d is wrong: %s", length, name), with(0, func(e *forged) {
				e.descriptor = descriptor{length, change}
			}))
		}
		if name == "CRC-32" || name == "more" {
			s.add(neither, "all headers agree on a wrong "+name, with(0, func(e *forged) { e.both = change }))
			s.add(neither, "all headers and the descriptor agree on a wrong "+name, with(0, func(e *forged) {
				e.both, e.descriptor.length = change, 16
			}))
		}
	}
}

// addHostileNames adds names that refer to files outside the directory, and names that
// are equal on some file systems.
func addHostileNames(s suite) {
	for _, name := range []string{
		"", "/", "/etc/passwd", "../x", "a/../../x", "..", ".", "./x", "a//b", "a/./b", `a\b`, `..\x`, "C:/x", "C:x", "a:b", "NUL", "aux.txt", "d/con/x",
		"com1.zip", "dot.", "space ", "new\nline", "nul\x00", "\xff\xfe", "a\u0085b", strings.Repeat("n", 256), strings.Repeat("d/", 65) + "x",
		strings.Repeat("long/", 900) + "x", "LICENSE", "license", "docs", "DOCS/a", "docs/INDEX.md", "LICENSE/below", "docs/index.md/",
	} {
		s.add(neither, fmt.Sprintf("name %.40q of %d bytes", name, len(name)), with(0, func(e *forged) { e.name = name }))
	}
	s.add(neither, "composed and decomposed", &forge{entries: []forged{{name: "\u00e9", content: "1"}, {name: "e\u0301", content: "2"}}})
}

// addHostileForms adds entries that are not regular files.
func addHostileForms(s suite) {
	for _, mode := range []uint32{0o120777, 0o060644, 0o020644, 0o010644, 0o140644, 0o040755} {
		s.add(neither, fmt.Sprintf("mode %o", mode), with(0, func(e *forged) { e.mode = mode }))
	}
	s.add(neither, "link named like a directory", with(1, func(e *forged) { e.mode = 0o120777 }))
	s.add(neither, "link, and a file below it", &forge{entries: []forged{
		{name: "link", content: "..", mode: 0o120777}, {name: "link/outside", content: "x"},
	}})
	for _, method := range []uint16{1, 6, 9, 12, 14, 93, 95, 98, 99} {
		s.add(neither, fmt.Sprintf("method %d", method), with(0, func(e *forged) { e.both = func(r *record) { r.method = method } }))
	}
	for _, flag := range []uint16{0, 6, 13} {
		s.add(neither, fmt.Sprintf("flag %d", flag), with(0, func(e *forged) { e.both = func(r *record) { r.flags |= 1 << flag } }))
	}
	s.add(neither, "stored with two sizes", with(3, func(e *forged) { e.both = func(r *record) { r.packed-- } }))
	s.add(neither, "stored with two sizes, described", with(3, func(e *forged) { e.both = func(r *record) { r.size-- } }))
	for _, stored := range []bool{false, true} {
		s.add(neither, fmt.Sprintf("directory with content, stored %v", stored), with(1, func(e *forged) { e.content, e.stored = "x", stored }))
	}
	s.add(neither, "directory with content that is not declared", with(1, func(e *forged) {
		e.stored, e.content, e.both = false, "x", func(r *record) { r.size = 0 }
	}))
	s.add(neither, "directory with hidden bytes", with(1, func(e *forged) { e.raw = func([]byte) []byte { return []byte("hidden") } }))
	damages := map[string]func([]byte) []byte{
		"cut":            func(p []byte) []byte { return p[:len(p)/2] },
		"cut at its end": func(p []byte) []byte { return p[:len(p)-1] },
		"nothing":        func([]byte) []byte { return nil },
		"damaged":        func(p []byte) []byte { p[len(p)/2] ^= 0xff; return p },
		"bytes after it": func(p []byte) []byte { return append(p, "hidden"...) },
		"no block":       func(p []byte) []byte { p[0] |= 6; return p },
		"no end":         func(p []byte) []byte { return emptyBlocks(1000, nil) },
	}
	for name, damage := range damages {
		for _, length := range []int{0, 12, 16, 24} {
			s.add(neither, fmt.Sprintf("deflate stream: %s, descriptor %d", name, length), with(0, func(e *forged) {
				e.raw, e.descriptor.length = damage, length
			}))
		}
	}
}

// addHostileLayouts adds unexpected bytes and entries.
func addHostileLayouts(s suite) {
	for name, bytes := range map[string]string{
		"a byte": "x", "zeros": strings.Repeat("\x00", 64), "something like a header": "PK\x03\x04", "something like a descriptor": "PK\x07\x08",
	} {
		for i := range 4 {
			want := fallbackRefuses
			if name == "something like a header" {
				want = neither
			}
			if i > 0 || name[:4] == "some" {
				s.add(want, fmt.Sprintf("%s in front of entry %d", name, i), with(i, func(e *forged) { e.before = bytes }))
			}
		}
		f := plain()
		f.between = bytes
		want := fallbackRefuses
		if name == "something like a header" {
			want = neither
		}
		s.add(want, name+" in front of the directory", f)
		f = plain()
		f.gap = bytes
		s.add(fallbackRefuses, name+" behind the directory", f)
		f = plain()
		f.trailing = bytes
		s.add(fallbackRefuses, name+" behind the archive", f)
	}
	s.add(neither, "entry that is not listed", with(2, func(e *forged) { e.unlisted = true }))
	s.add(neither, "first entry that is not listed", with(0, func(e *forged) { e.unlisted = true }))
	s.add(neither, "last entry that is not listed", with(3, func(e *forged) { e.unlisted = true }))
	s.add(neither, "entry that is listed twice", with(2, func(e *forged) { e.twice = true }))
	s.add(neither, "duplicate name", with(2, func(e *forged) { e.name = "LICENSE" }))
	s.add(neither, "two names for one entry", with(2, func(e *forged) { e.central = func(r *record) { r.offset = 0 } }))
	s.add(neither, "offset after the archive", with(2, func(e *forged) { e.central = func(r *record) { r.offset = 1 << 20 } }))
	s.add(neither, "offset beyond all archives", with(2, func(e *forged) { e.central = func(r *record) { r.offset, r.wide = 1<<63, true } }))
	s.add(neither, "offset into a content", with(2, func(e *forged) { e.central = func(r *record) { r.offset += 8 } }))
	s.add(neither, "an entry inside of another", overlapping())
	s.add(fallbackRefuses, "two archives, one after the other", &forge{prefix: string(plain().zip()), entries: plain().entries})
	s.add(neither, "an undeclared descriptor", with(0, func(e *forged) {
		e.behind = "PK\x07\x08............"
		e.local = func(r *record) { r.flags |= 1 << 3; r.crc, r.size, r.packed = 0, 0, 0 }
	}))
	empty := &forge{}
	s.add(neither, "empty", empty)
}

// overlapping returns an archive with an entry inside a stored file.
func overlapping() *forge {
	inner := &forge{entries: []forged{{name: "evil", content: "evil", stored: true}}}
	inner.entry(inner.entries[0])
	outer := forged{name: "good", content: inner.out.String(), stored: true}
	return &forge{entries: []forged{outer, {name: "evil", content: "evil", stored: true, central: func(r *record) { r.offset = 34 }}}}
}
