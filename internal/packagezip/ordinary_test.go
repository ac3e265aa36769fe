package packagezip_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// suite maps names to forged archives and their expected results.
type suite map[string]struct {
	forge *forge
	want  verdict
}

func (s suite) add(want verdict, name string, f *forge) {
	s[name] = struct {
		forge *forge
		want  verdict
	}{f, want}
}

func (s suite) run(t *testing.T, least int) {
	t.Helper()
	if len(s) < least {
		t.Errorf("%d archives, want at least %d", len(s), least)
	}
	for name, test := range s {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readAllWays(t, test.forge.zip())
			if got != test.want {
				t.Errorf("%s (%v), want: %s", got, err, test.want)
			}
		})
	}
}

// text is long enough to be compressed.
var text = strings.Repeat("the content of a file in a package, ", 100)

// plain returns a correct package with four entries.
func plain() *forge {
	return &forge{entries: []forged{
		{name: "terraform-provider-x_v1.0.0", content: text, mode: unixExec},
		{name: "docs/", stored: true},
		{name: "docs/index.md", content: "# x"},
		{name: "LICENSE", content: "free", stored: true},
	}}
}

// with changes one entry of a plain package.
func with(i int, change func(*forged)) *forge {
	f := plain()
	change(&f.entries[i])
	return f
}

// TestOrdinaryArchives covers archives from real archivers, and other valid archives.
func TestOrdinaryArchives(t *testing.T) {
	t.Parallel()
	s := suite{}
	s.add(both, "plain", plain())
	addForms(s)
	addModes(s)
	addEnds(s)
	f := plain()
	f.reversed = true
	s.add(both, "directory in another order", f)
	s.add(both, "comments", with(0, func(e *forged) { e.central = func(r *record) { r.comment = "PK\x05\x06 and more" } }))
	s.add(both, "directory that is deflated", with(1, func(e *forged) { e.stored = false; e.descriptor.length = 16 }))
	for _, length := range []int{12, 16, 20, 24} {
		s.add(both, fmt.Sprintf("directory with descriptor %d", length), with(1, func(e *forged) { e.descriptor.length = length }))
		s.add(randomOnly, fmt.Sprintf("directory with descriptor %d and sizes of ones", length), with(1, func(e *forged) {
			e.descriptor.length = length
			e.local = func(r *record) { r.packed, r.size = math.MaxUint32, math.MaxUint32 }
		}))
	}
	s.add(both, "empty file, deflated", with(2, func(e *forged) { e.content = "" }))
	s.add(both, "empty file, stored", with(3, func(e *forged) { e.content = "" }))
	s.add(both, "content that is an archive", with(3, func(e *forged) { e.content = string(plain().zip()) }))
	s.add(both, "content that is an archive, described", with(2, func(e *forged) {
		e.content = string(plain().zip())
		e.descriptor.length = 12
	}))
	s.add(both, "content larger than all buffers", with(0, func(e *forged) { e.content = strings.Repeat(text, 1500) }))
	s.add(both, "stored content larger than all buffers", with(3, func(e *forged) { e.content = strings.Repeat(text, 1500) }))
	s.add(both, "deflate streams of many blocks", with(0, func(e *forged) { e.raw = func(p []byte) []byte { return emptyBlocks(100_000, p) } }))
	s.add(both, "not in ASCII", with(0, func(e *forged) { e.name = "été/日本"; e.both = func(r *record) { r.flags |= 1 << 11 } }))
	s.add(both, "text flags and levels", with(0, func(e *forged) { e.both = func(r *record) { r.flags |= 1<<1 | 1<<2 } }))
	s.add(both, "other levels in the two headers", with(0, func(e *forged) { e.local = func(r *record) { r.flags |= 1 << 1 } }))
	s.add(both, "only one file", &forge{entries: []forged{{name: "a", content: "a"}}})
	s.add(both, "only one directory", &forge{entries: []forged{{name: "a/", stored: true}}})
	many := &forge{}
	for i := range 300 {
		many.entries = append(many.entries, forged{name: fmt.Sprintf("%d/%d", i%7, i), content: text[:i%300]})
	}
	s.add(both, "many files", many)
	s.run(t, 110)
}

// emptyBlocks inserts n empty stored blocks before a deflate stream.
func emptyBlocks(n int, packed []byte) []byte {
	return append(slices.Repeat([]byte{0, 0, 0, 0xff, 0xff}, n), packed...)
}

// addForms adds every format of headers, descriptors, and compression.
func addForms(s suite) {
	extra := []byte{0xfe, 0xca, 2, 0, 'x', 'y'}
	for _, length := range []int{0, 12, 16, 20, 24} {
		for _, wide := range []string{"", "local", "central", "both"} {
			for _, stored := range []bool{false, true} {
				for _, extras := range []bool{false, true} {
					want := both
					if stored && length > 0 {
						want = randomOnly
					}
					f := plain()
					for i := range f.entries {
						e := &f.entries[i]
						if e.content == "" {
							continue
						}
						e.stored, e.descriptor.length = stored, length
						e.local = func(r *record) {
							r.wide = wide == "local" || wide == "both"
							if extras {
								r.extra = extra
							}
						}
						e.central = func(r *record) {
							r.wide = wide == "central" || wide == "both"
							if extras {
								r.extra = slices.Concat(extra, []byte{0x55, 0x54, 9}) // with trailing bytes that are not a field
							}
						}
					}
					s.add(want, fmt.Sprintf("descriptor %d, wide %q, stored %v, extras %v", length, wide, stored, extras), f)
				}
			}
		}
		if length == 0 {
			continue
		}
		s.add(both, fmt.Sprintf("descriptor %d, with the same values in the header", length), with(0, func(e *forged) {
			e.descriptor.length = length
			e.local = func(r *record) {
				r.crc, r.packed, r.size = crcOf(e.content), packedOf(e.content), uint64(len(e.content))
			}
		}))
		s.add(both, fmt.Sprintf("descriptor %d, and sizes of ones in the header", length), with(0, func(e *forged) {
			e.descriptor.length = length
			e.local = func(r *record) { r.packed, r.size = math.MaxUint32, math.MaxUint32 }
		}))
		s.add(both, fmt.Sprintf("descriptor %d of an empty file", length), with(2, func(e *forged) {
			e.content, e.descriptor.length = "", length
		}))
	}
}

// addModes adds modes that are preserved or ignored.
func addModes(s suite) {
	for _, mode := range []uint32{0o100644, 0o100755, 0o100600, 0o100700, 0o100000, 0o100777, 0o104755, 0o102755, 0o101755, 0o755, 0o010} {
		s.add(both, fmt.Sprintf("mode %o", mode), with(0, func(e *forged) { e.mode = mode }))
	}
	for _, system := range []uint16{0, 3, 10, 11, 19} {
		s.add(both, fmt.Sprintf("made by %d without a mode", system), with(0, func(e *forged) {
			e.central = func(r *record) { r.madeBy, r.attributes = system<<8, 0 }
		}))
		s.add(both, fmt.Sprintf("made by %d, executable", system), with(2, func(e *forged) {
			e.central = func(r *record) { r.madeBy = system << 8; r.attributes = unixExec << 16 }
		}))
	}
}

// addEnds adds end records and data around the entries.
func addEnds(s suite) {
	ends := map[string]func(*ending){
		"comment":                             func(e *ending) { e.comment = "made by hand" },
		"long comment":                        func(e *ending) { e.comment = strings.Repeat("c", math.MaxUint16) },
		"comment with a part of a record":     func(e *ending) { e.comment = "PK\x05\x06" },
		"zip64":                               func(e *ending) { e.wide = true },
		"zip64 that is needed":                func(e *ending) { e.wide, e.maxed = true, true },
		"zip64 and comment":                   func(e *ending) { e.wide, e.maxed, e.comment = true, true, "made by hand" },
		"zip64 and the longest comment":       func(e *ending) { e.wide, e.maxed, e.comment = true, true, strings.Repeat("c", math.MaxUint16) },
		"zip64 of another version and a disk": func(e *ending) { e.wide = true; e.change64 = func(b []byte) { b[12], b[14], b[16] = 63, 63, 1 } },
	}
	for name, end := range ends {
		f := plain()
		f.end = end
		s.add(both, name, f)
		f = plain()
		f.end, f.prefix, f.shift = end, "#!/bin/sh\nunzip $0\n", 19
		s.add(randomOnly, name+", behind a script that is counted", f)
	}
	f := plain()
	f.prefix = "#!/bin/sh\nunzip $0\n"
	s.add(randomOnly, "after a script that offsets ignore", f)
	f = plain()
	f.prefix = "P"
	s.add(randomOnly, "after a byte", f)
}
