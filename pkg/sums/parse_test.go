package sums_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

func TestParse(t *testing.T) {
	t.Parallel()
	a, b := sumA.Encoded(), sumB.Encoded()
	both := sums.New(map[string]digest.Digest{"a_linux_amd64.zip": sumA, "a_manifest.json": sumB})
	good := a + "  a_linux_amd64.zip\n" + b + "  a_manifest.json\n"
	tests := map[string]string{
		"two spaces":       good,
		"one space":        a + " a_linux_amd64.zip\n" + b + " a_manifest.json\n",
		"tabs":             a + "\ta_linux_amd64.zip\n" + b + " \t a_manifest.json\n",
		"space around":     " " + a + "  a_linux_amd64.zip \n\t" + b + "  a_manifest.json\v\n",
		"no-break space":   a + "\u00a0a_linux_amd64.zip\n" + b + "\u2003a_manifest.json\n",
		"CRLF":             a + "  a_linux_amd64.zip\r\n" + b + "  a_manifest.json\r\n",
		"upper case":       strings.ToUpper(a) + "  a_linux_amd64.zip\n" + b + "  a_manifest.json\n",
		"no final newline": strings.TrimSuffix(good, "\n"),
		"blank lines":      "\n" + a + "  a_linux_amd64.zip\n \r\n\n" + b + "  a_manifest.json\n\n",
		"other order":      b + "  a_manifest.json\n" + a + "  a_linux_amd64.zip\n",
		"same line twice":  good + a + " a_linux_amd64.zip\n",
		"more words":       a + "  a_linux_amd64.zip  b.zip\n" + b + "  a_manifest.json # the manifest\n",
		"comments":         "# SHA256SUMS of a\n#\n" + good + "; " + a + "\n",
		"a short sum":      a[1:] + "  b.zip\n" + good,
		"a long sum":       a + "0  b.zip\n" + good,
		"no hex":           good + "g" + a[1:] + "  b.zip\n",
		"a sum alone":      good + b + "\n",
		"invalid UTF-8":    good + "\xff\xfe  b\xff.zip\n",
		"a NUL":            good + "x\x00 \x00\n",
		"a byte order":     "\xef\xbb\xbf" + b + " b.zip\n" + good,
		"two other sums":   good + a + " b.zip\n" + b + " b.zip\n" + a + " b.zip\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := sums.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(both.Bytes()), string(got.Bytes())); diff != "" {
				t.Error("-want +got:\n" + diff)
			}
		})
	}
}

// TestParseRefusals checks documents without a valid line.
func TestParseRefusals(t *testing.T) {
	t.Parallel()
	a, b := sumA.Encoded(), sumB.Encoded()
	good := a + "  a.zip\n"
	tests := map[string]struct {
		text    string
		line    int
		problem string // part of the problem
	}{
		"empty":           {"", 0, "no files are listed"},
		"only blank":      {"\n\r\n", 0, "no files are listed"},
		"sums alone":      {a + "\n" + b + "\n", 0, "no files are listed"},
		"no sums":         {"\nabc  a.zip\nabd  b.zip", 2, `"a.zip": the first word must be a checksum of 64 hexadecimal digits`},
		"two sums":        {"\n" + good + b + "  a.zip\n", 3, `"a.zip": the file is listed with two different checksums`},
		"a long name":     {"abc " + strings.Repeat("a", 1<<20), 1, strings.Repeat("a", 200) + `": the`},
		"UTF-16":          {"\xff\xfe0\x001\x00", 0, "UTF-16"},
		"UTF-16 big":      {"\xfe\xff\x000\x001", 0, "UTF-16"},
		"UTF-16 unmarked": {"0\x001\x00", 0, "UTF-16"},
		"byte order mark": {"\xef\xbb\xbf" + good, 1, "byte order mark"},
		"HTML":            {"\n<!DOCTYPE html>\n<title>404</title>", 0, "HTML"},
		"too large":       {strings.Repeat(good, 4<<20/len(good)+1), 0, "exceeds 4194304 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := sums.Parse([]byte(test.text))
			var syntax *sums.FileError
			if !errors.As(err, &syntax) || syntax.Line != test.line || !strings.Contains(syntax.Problem, test.problem) {
				t.Errorf("%v, want line %d and %q", err, test.line, test.problem)
			}
			if err != nil && len(err.Error()) > 500 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if len(f.Names()) != 0 {
				t.Errorf("a part of a refused document: %q", f.Names())
			}
		})
	}
}

// TestFindAsOpenTofu checks documents that list other files but not a.zip.
func TestFindAsOpenTofu(t *testing.T) {
	t.Parallel()
	a, b := sumA.Encoded(), sumB.Encoded()
	good := b + "  b.zip\n"
	for text, want := range map[string]string{
		a + " *a.zip\n":            "SHA256SUMS does not list a.zip; it lists *a.zip, which OpenTofu treats as a different name",
		a + "  ./a.zip\n":          "SHA256SUMS does not list a.zip; it lists ./a.zip, which OpenTofu treats as a different name",
		a + " *./a.zip\n":          "SHA256SUMS does not list a.zip; it lists *./a.zip, which OpenTofu treats as a different name",
		a + "  dist/a.zip\n":       "SHA256SUMS does not list a.zip",
		a + "  A.zip\n":            "SHA256SUMS does not list a.zip",
		a + "a.zip\n":              "SHA256SUMS does not list a.zip",
		"# " + a + "  a.zip\n":     "SHA256SUMS does not list a.zip",
		a[1:] + "  a.zip\n":        `SHA256SUMS line 2: "a.zip": the first word must be a checksum of 64 hexadecimal digits`,
		"# a.zip\n" + a + " a.zip": `SHA256SUMS line 2: "a.zip": the first word must be a checksum of 64 hexadecimal digits`,
		a + " a.zip\n\n# a.zip\n":  `SHA256SUMS line 4: "a.zip": the first word must be a checksum of 64 hexadecimal digits`,
		a + " a.zip\n" + b + "\ta.zip\n" + a + " a.zip\n": `SHA256SUMS line 3: "a.zip": the file is listed with two different checksums`,
	} {
		f, err := sums.Parse([]byte(good + text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if err := f.Check("b.zip", sumB); err != nil {
			t.Errorf("%q: the other file: %v", text, err)
		}
		if _, found := f.Lookup("a.zip"); found {
			t.Errorf("%q lists a.zip", text)
		}
		if err := f.Check("a.zip", sumA); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		var file *sums.FileError
		if _, err := f.Find("a.zip"); !errors.As(err, &file) {
			t.Errorf("%q: %T", text, err)
		}
	}
}

// openTofus returns the checksum that OpenTofu finds for a file, or nil if OpenTofu
// finds none. It is the first word of the first line whose second word is the name.
func openTofus(document []byte, name string) []byte {
	for line := range bytes.SplitSeq(document, []byte("\n")) {
		words := bytes.FieldsFunc(line, unicode.IsSpace)
		if len(words) >= 2 && string(words[1]) == name {
			return words[0]
		}
	}
	return nil
}

// FuzzFindLikeOpenTofu compares Find with OpenTofu's rule. Both must find the same
// checksum unless lines about the file disagree.
func FuzzFindLikeOpenTofu(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		word := openTofus(data, name)
		var theirs [32]byte
		n, err := hex.Decode(theirs[:], word[:min(len(word), 64)])
		isSum := err == nil && n == 32 && len(word) == 64

		parsed, err := sums.Parse(data)
		ours, found := parsed.Lookup(name)
		if err != nil && found {
			t.Fatalf("%s is found in spite of %v", name, err)
		}
		if found && (!isSum || ours.Encoded() != hex.EncodeToString(theirs[:])) {
			t.Fatalf("%q has %s, for OpenTofu %q", name, ours, word)
		}
		if !found && isSum && !disputed(data, name, word) {
			t.Fatalf("OpenTofu finds %q for %q, we don't: %v", word, name, err)
		}
		var missing *sums.FileError
		if _, err := parsed.Find(name); errors.As(err, &missing) && missing.Missing != "" && word != nil && len(parsed.Names()) > 0 {
			t.Fatalf("%v, but OpenTofu finds %q", err, word)
		}
		if own := parsed.Bytes(); bytes.HasPrefix(own, []byte("\n")) || bytes.Contains(own, []byte("\n\n")) {
			t.Fatalf("a blank line in %q", own)
		}
	})
}

// disputed reports whether lines about a file have different checksums.
func disputed(document []byte, name string, first []byte) bool {
	for line := range bytes.SplitSeq(document, []byte("\n")) {
		words := bytes.FieldsFunc(line, unicode.IsSpace)
		if len(words) >= 2 && string(words[1]) == name && !bytes.EqualFold(words[0], first) {
			return true
		}
	}
	return false
}

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		parsed, err := sums.Parse(data)
		if err != nil {
			var syntax *sums.FileError
			if !errors.As(err, &syntax) {
				t.Fatalf("error of another type: %v", err)
			}
			return
		}
		again, err := sums.Parse(parsed.Bytes())
		if err != nil {
			t.Fatalf("own bytes: %v", err)
		}
		if !again.Equal(parsed) {
			t.Errorf("-first +second:\n%s", cmp.Diff(string(parsed.Bytes()), string(again.Bytes())))
		}
		for _, name := range parsed.Names() {
			d, _ := parsed.Lookup(name)
			if err := again.Check(name, d); err != nil {
				t.Error(err)
			}
		}
	})
}
