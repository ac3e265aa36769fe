package packagezip_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 255)
	deep := strings.Repeat("d/", 63)
	good := []string{
		"terraform-provider-time_v0.14.2_x5", "LICENSE", ".hidden", "with space.txt", "a/b/c", "dir/", "été", "...x",
		"console", "communication", "com", "com10", "lpt.txt", long, deep + "f", deep + "d/",
	}
	for _, name := range good {
		if _, err := open(archive(t, entry{name: name})); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	bad := map[string]string{
		"":                                   "has no name",
		"/etc/passwd":                        "absolute",
		"/":                                  "absolute",
		"//host/share":                       "absolute",
		`\\host\share`:                       "backslash",
		`a\..\b`:                             "backslash",
		"C:/x":                               "Windows does not allow",
		"C:x":                                "Windows does not allow",
		"file:stream":                        "Windows does not allow",
		"what?":                              "Windows does not allow",
		"..":                                 `".."`,
		"../x":                               `".."`,
		"a/../../x":                          `".."`,
		"a/..":                               `".."`,
		"./x":                                `"."`,
		"a/./x":                              `"."`,
		"a//b":                               "empty element",
		"a//":                                "empty element",
		"nul\x00byte":                        "control character",
		"new\nline":                          "control character",
		"del\x7f":                            "control character",
		"c1\u0085":                           "control character",
		"latin1\xe9":                         "UTF-8",
		"NUL":                                "device",
		"aux.txt":                            "device",
		"dir/con/x":                          "device",
		"Com1.tar.gz":                        "device",
		"lpt9":                               "device",
		"com²":                               "device",
		"conin$":                             "device",
		"prn .txt":                           "device",
		".git/config":                        `".git"`,
		"modules/.GIT/config":                `".GIT"`,
		"git~1/config":                       `"git~1"`,
		".g\u200cit":                         "Git",
		"dot.":                               "dot or space",
		"dir./x":                             "dot or space",
		"space ":                             "dot or space",
		long + "n":                           "longer than 255 bytes",
		strings.Repeat("long/", 1000) + "x":  "exceeds 4096 bytes",
		deep + "d/f":                         "directories deep",
		strings.Repeat("é", 128) + "/x":      "longer than 255 bytes",
		"terraform-provider-x/../../../../x": `".."`,
	}
	for name, want := range bad {
		_, err := open(archive(t, entry{name: name}))
		checkRule(t, name, err, name, want)
	}
}

func checkRule(t *testing.T, test string, err error, name, problem string) {
	t.Helper()
	about := "the zip archive "
	if name != "" {
		about = fmt.Sprintf("the zip archive's entry %q ", name)
	}
	if !isBroken(err) || !strings.Contains(err.Error(), about) || !strings.Contains(err.Error(), problem) {
		t.Errorf("%q: error %v, want one about %q with %q", test, err, name, problem)
	}
}

func isBroken(err error) bool { return errors.Is(err, packagezip.ErrArchive) }

func TestForms(t *testing.T) {
	t.Parallel()
	flags := func(f uint16) func(*zip.FileHeader) { return func(h *zip.FileHeader) { h.Flags |= f } }
	tests := []struct {
		test, name string
		header     func(*zip.FileHeader)
		want       string
	}{
		{"symbolic link", "link", mode(fs.ModeSymlink | 0o777), "symbolic link"},
		{"link named like a directory", "link/", mode(fs.ModeSymlink | 0o777), "symbolic link"},
		{"device", "disk", mode(fs.ModeDevice | 0o644), "neither"},
		{"character device", "tty", mode(fs.ModeDevice | fs.ModeCharDevice | 0o644), "neither"},
		{"pipe", "pipe", mode(fs.ModeNamedPipe | 0o644), "neither"},
		{"socket", "socket", mode(fs.ModeSocket | 0o644), "neither"},
		{"directory named like a file", "dir", mode(fs.ModeDir | 0o755), "mode of a directory"},
		{"directory with contents", "dir/", func(h *zip.FileHeader) { h.UncompressedSize64 = 5 }, "directory with contents"},
		{"encrypted", "secret", flags(1), "encrypted"},
		{"strongly encrypted", "secret", flags(1 << 6), "encrypted"},
		{"with masked headers", "secret", flags(1 << 13), "encrypted"},
		{"bzip2", "f", func(h *zip.FileHeader) { h.Method = 12 }, "method 12"},
		{"zstd", "f", func(h *zip.FileHeader) { h.Method = 93 }, "method 93"},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			_, err := open(archive(t, entry{name: test.name, header: test.header}))
			checkRule(t, test.test, err, test.name, test.want)
		})
	}
}

func TestCollisions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		test  string
		names []string
		at    string // the invalid entry; empty if the archive is valid
		want  string
	}{
		{"siblings", []string{"a", "b", "c/a", "c/b"}, "", ""},
		{"a directory listed before its files", []string{"a/", "a/b"}, "", ""},
		{"a directory listed after its files", []string{"a/b", "a/"}, "", ""},
		{"the same file twice", []string{"a", "a"}, "a", "duplicated"},
		{"the same directory twice", []string{"a/", "a/b", "a/"}, "a/", "duplicated"},
		{"case", []string{"README", "readme"}, "readme", `"README"`},
		{"case of a directory", []string{"Docs/a", "docs/b"}, "docs/b", `"Docs"`},
		{"case beyond ASCII", []string{"ÉTÉ", "été"}, "été", `"ÉTÉ"`},
		{"composed and decomposed", []string{"\u00e9", "e\u0301"}, "e\u0301", "Unicode normalization"},
		{"a file and then a directory", []string{"a", "a/"}, "a/", "both a file and a directory"},
		{"a directory and then a file", []string{"a/", "a"}, "a", "both a file and a directory"},
		{"a file that is a parent", []string{"a/b", "a/b/c/d"}, "a/b/c/d", `"a/b"`},
		{"objects of a program", []string{"objects/a", "refs/a", "x/HEAD", "y/commondir"}, "", ""},
		{"a repository", []string{"a/HEAD", "a/objects/b", "a/config", "a/refs/c"}, "a/refs/c", "completes a Git repository"},
		{"a repository in upper case", []string{"OBJECTS/b", "Refs/", "head"}, "head", "completes a Git repository"},
		{"a repository elsewhere", []string{"commondir", "HEAD"}, "HEAD", "completes a Git repository"},
		{"a parent that is a file", []string{"a/b/c/d", "a/b"}, "a/b", `"a/b"`},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			var entries []entry
			for _, name := range test.names {
				entries = append(entries, entry{name: name})
			}
			_, err := open(archive(t, entries...))
			if test.at != "" {
				checkRule(t, test.test, err, test.at, test.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAllProblemsAreReported(t *testing.T) {
	t.Parallel()
	_, err := open(archive(t,
		entry{name: "../up"}, entry{name: "fine"}, entry{name: "link", header: mode(fs.ModeSymlink)}, entry{name: "FINE"}))
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		t.Fatalf("got %v, want joined errors", err)
	}
	var names []string
	for _, problem := range joined.Unwrap() {
		_, quoted, _ := strings.Cut(problem.Error(), "entry ")
		if name, err := strconv.QuotedPrefix(quoted); isBroken(problem) && err == nil {
			names = append(names, name)
		}
	}
	if diff := cmp.Diff([]string{`"../up"`, `"link"`, `"FINE"`}, names); diff != "" {
		t.Errorf("entries with problems (-want +got):\n%s", diff)
	}

	many := make([]entry, 1000)
	for i := range many {
		many[i].name = "same"
	}
	_, err = open(archive(t, many...))
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 21 || lines[20] != "and 979 more problems" {
		t.Errorf("%d lines, the last %q; want 20 problems and the number of the others", len(lines), lines[len(lines)-1])
	}
}

func TestCompleteArchive(t *testing.T) {
	t.Parallel()
	declare := func(size uint64) func(*zip.FileHeader) {
		return func(h *zip.FileHeader) { h.Method = zip.Deflate; h.UncompressedSize64 = size }
	}
	tests := []struct {
		test    string
		entries []entry
		want    string // empty if the archive is valid
	}{
		{"without entries", nil, "is empty"},
		{"4 GiB", []entry{{name: "a", header: declare(2 << 30)}, {name: "b", header: declare(2 << 30)}}, ""},
		{"4 GiB and a byte", []entry{{name: "a", header: declare(2 << 30)}, {name: "b", header: declare(2<<30 + 1)}}, "more than 4294967296 bytes"},
		{"sizes that overflow", []entry{{name: "a", header: declare(1 << 63)}, {name: "b", header: declare(1 << 63)}}, "more than 4294967296 bytes"},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			_, err := open(archive(t, test.entries...))
			if test.want != "" {
				checkRule(t, test.test, err, "", test.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTooManyEntries(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	_, err := open(archive(t, make([]entry, 100_001)...))
	checkRule(t, "100,001 entries", err, "", "more than 100000 entries")
	if lines := strings.Count(err.Error(), "\n"); lines != 0 {
		t.Errorf("the error has %d lines, so entries were checked that should not have been read", lines)
	}
}

func TestNoArchive(t *testing.T) {
	t.Parallel()
	for _, data := range [][]byte{nil, []byte("<html>not found</html>"), bytes.Repeat([]byte{0}, 4096)} {
		if _, err := open(data); !errors.Is(err, zip.ErrFormat) {
			t.Errorf("%.10q: error %v, want zip.ErrFormat", data, err)
		}
	}
}
