package packagezip_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// TestLimits checks that both readers enforce the same limits, regardless of how an
// archive exceeds them.
func TestLimits(t *testing.T) {
	t.Parallel()
	const entries, contents, archive = 10, 10_000, 20_000
	files := func(n int, name string) *forge {
		f := &forge{}
		for i := range n {
			f.entries = append(f.entries, forged{name: fmt.Sprintf(name, i), stored: true})
		}
		return f
	}
	one := func(size, length int) *forge {
		return &forge{entries: []forged{
			{name: "a", content: strings.Repeat("0", size), descriptor: descriptor{length: length}},
			{name: "b", content: "0", descriptor: descriptor{length: length}},
		}}
	}
	padded := func(blocks int) *forge {
		return &forge{entries: []forged{{name: "a", content: "a", descriptor: descriptor{length: 16}, raw: func(p []byte) []byte {
			return emptyBlocks(blocks, p)
		}}}}
	}
	endless := padded(10_000)
	endless.entries[0].raw = func([]byte) []byte { return emptyBlocks(10_000, nil) }
	tests := map[string]struct {
		forge *forge
		want  string // empty if the archive is valid
	}{
		"files":                             {files(entries, "%d"), ""},
		"too many files":                    {files(entries+1, "%d"), "more than 10 entries"},
		"directories":                       {files(entries, "%d/"), ""},
		"too many directories":              {files(entries+1, "%d/"), "more than 10 entries"},
		"parents":                           {files(entries/2, "%d/file"), ""},
		"too many parents":                  {files(entries/2+1, "%d/file"), "more than 10 entries"},
		"shared parents":                    {files(entries-2, "a/b/%d"), ""},
		"one name too many":                 {files(1, "1/2/3/4/5/6/7/8/9/10/%d"), "more than 10 entries"},
		"contents":                          {one(contents-1, 0), ""},
		"too much content":                  {one(contents, 0), "more than 10000 bytes"},
		"contents with descriptors":         {one(contents-1, 16), ""},
		"too much content with descriptors": {one(contents, 16), "more than 10000 bytes"},
		"a bomb":                            {one(10<<20, 16), "more than 10000 bytes"},
		"empty blocks":                      {padded(3000), ""},
		"too many empty blocks":             {padded(4000), "exceeds 20000 bytes"},
		"only empty blocks":                 {endless, "exceeds 20000 bytes"},
		"a directory that is too large":     {files(200, strings.Repeat("n", 200)+"%d"), ""},
		"a comment at the limit":            {&forge{entries: []forged{{name: "a"}}, end: func(e *ending) { e.comment = strings.Repeat("c", archive) }}, "exceeds 20000 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := test.forge.zip()
			_, streamErr := packagezip.HashLimited(t.Context(), bytes.NewReader(data), entries, contents, archive)
			_, openErr := packagezip.OpenLimited(bytes.NewReader(data), int64(len(data)), entries, contents, archive)
			for way, err := range map[string]error{"stream": streamErr, "random access": openErr} {
				switch {
				case len(data) > archive && test.want == "":
					checkRule(t, way, err, "", "") // the archive's size is checked first
				case test.want != "":
					checkRule(t, way, err, "", test.want)
				case err != nil:
					t.Errorf("%s: %v", way, err)
				}
			}
		})
	}
}

// TestInodes covers an archive of 3 MiB with 630,000 directories.
func TestInodes(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	f := &forge{}
	for i := range 10_000 {
		f.entries = append(f.entries, forged{name: fmt.Sprintf("%d%s/f", i, strings.Repeat("/d", 62)), stored: true})
	}
	data := f.zip()
	_, err := open(data)
	checkRule(t, "random access", err, "", "more than 100000 entries")
	_, err = packagezip.HashStream(t.Context(), bytes.NewReader(data))
	checkRule(t, "stream", err, "", "more than 100000 entries")
}

func TestTooManyStreamedEntries(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	f := &forge{end: func(e *ending) { e.wide, e.maxed = true, true }}
	for i := range 100_001 {
		f.entries = append(f.entries, forged{name: fmt.Sprint(i), stored: true})
	}
	_, err := packagezip.HashStream(t.Context(), bytes.NewReader(f.zip()))
	checkRule(t, "100,001 entries", err, "", "more than 100000 entries")
}

// TestLongNames checks that the total length of names is limited. A stream is rejected
// before its central directory, which repeats the names, is read.
func TestLongNames(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	f := &forge{}
	for i := range 4200 {
		f.entries = append(f.entries, forged{name: strings.Repeat(strings.Repeat("n", 248)+"/", 16) + fmt.Sprint(i), stored: true})
	}
	data := f.zip()
	_, err := open(data)
	checkRule(t, "random access", err, "", "central directory that exceeds")
	_, err = packagezip.HashStream(t.Context(), bytes.NewReader(data[:15<<20]))
	checkRule(t, "less than half of a stream", err, "", "truncated")
	_, err = packagezip.HashStream(t.Context(), bytes.NewReader(data[:len(data)/2]))
	checkRule(t, "half of a stream", err, "", "central directory that exceeds")
}

// TestManyEntries covers archives with more entries than 16 bits can represent. Old
// archivers store the number of entries modulo 65,536.
func TestManyEntries(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	f := &forge{}
	for i := range 1<<16 + 3 {
		f.entries = append(f.entries, forged{name: fmt.Sprint(i), stored: true})
	}
	if got, err := agree(t, f.zip()); got != both {
		t.Errorf("%s (%v)", got, err)
	}
}
