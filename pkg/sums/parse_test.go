package sums_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

func TestParse(t *testing.T) {
	t.Parallel()
	a, b := sumA.Encoded(), sumB.Encoded()
	both := sums.New(map[string]digest.Digest{"a_linux_amd64.zip": sumA, "a_manifest.json": sumB})
	tests := map[string]string{
		"text mode":        a + "  a_linux_amd64.zip\n" + b + "  a_manifest.json\n",
		"binary mode":      a + " *a_linux_amd64.zip\n" + b + " *a_manifest.json\n",
		"CRLF":             a + "  a_linux_amd64.zip\r\n" + b + "  a_manifest.json\r\n",
		"upper case":       strings.ToUpper(a) + "  a_linux_amd64.zip\n" + b + "  a_manifest.json\n",
		"no final newline": a + "  a_linux_amd64.zip\n" + b + "  a_manifest.json",
		"blank lines":      "\n" + a + "  a_linux_amd64.zip\n \r\n\n" + b + "  a_manifest.json\n\n",
		"other order":      b + "  a_manifest.json\n" + a + "  a_linux_amd64.zip\n",
		"same line twice":  a + "  a_linux_amd64.zip\n" + b + "  a_manifest.json\n" + a + " *a_linux_amd64.zip\n",
		"dot slash":        a + "  ./a_linux_amd64.zip\n" + b + "  ./a_manifest.json\n",
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

func TestParseErrors(t *testing.T) {
	t.Parallel()
	a, b := sumA.Encoded(), sumB.Encoded()
	good := a + "  a.zip\n"
	tests := map[string]struct {
		text    string
		line    int
		problem string // part of it
	}{
		"empty":             {"", 0, "no file is listed"},
		"only blank":        {"\n\r\n", 0, "no file is listed"},
		"two sums":          {good + b + "  a.zip\n", 2, "two different sums"},
		"two sums, dot":     {good + b + "  ./a.zip\n", 2, "two different sums"},
		"short sum":         {good + "\n" + a[1:] + "  b.zip\n", 3, "64 hexadecimal digits"},
		"no hex":            {"g" + a[1:] + "  b.zip\n", 1, "64 hexadecimal digits"},
		"one space":         {a + " b.zip\n", 1, "two spaces"},
		"tab":               {a + "\t b.zip\n", 1, "two spaces"},
		"sum alone":         {a + "\n", 1, "two spaces"},
		"no name":           {a + "  \n", 1, "missing"},
		"dot slash nothing": {a + "  ./\n", 1, "missing"},
		"parent":            {a + "  ..\n", 1, "single path element"},
		"path":              {a + "  dist/a.zip\n", 1, "single path element"},
		"absolute":          {a + "  /a.zip\n", 1, "single path element"},
		"backslash":         {a + "  dist\\a.zip\n", 1, "single path element"},
		"twice dot slash":   {a + "  ././a.zip\n", 1, "single path element"},
		"space around":      {a + "   a.zip\n", 1, "white space"},
		"control character": {a + "  a\x1b[2J.zip\n", 1, "control character"},
		"return in name":    {a + "  a\r.zip\n", 1, "control character"},
		"UTF-16":            {"\xff\xfe0\x001\x00", 0, "UTF-16"},
		"UTF-16 big":        {"\xfe\xff\x000\x001", 0, "UTF-16"},
		"UTF-16 unmarked":   {"0\x001\x00", 0, "UTF-16"},
		"byte order mark":   {"\xef\xbb\xbf" + good, 0, "byte order mark"},
		"invalid UTF-8":     {a + "  \xff.zip\n", 0, "UTF-8"},
		"HTML":              {"\n<!DOCTYPE html>\n<title>404</title>", 0, "HTML"},
		"too large":         {strings.Repeat(good, 4<<20/len(good)+1), 0, "larger than 4194304 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := sums.Parse([]byte(test.text))
			var syntax *sums.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("%v, %q", err, f.Names())
			}
			if syntax.Line != test.line || !strings.Contains(syntax.Problem, test.problem) {
				t.Errorf("%v, want line %d and %q", err, test.line, test.problem)
			}
			if len(f.Names()) != 0 {
				t.Errorf("a part of a refused document: %q", f.Names())
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		parsed, err := sums.Parse(data)
		if err != nil {
			var syntax *sums.SyntaxError
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
