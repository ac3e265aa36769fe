package packagezip_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestListing checks that the central directory contains the same facts about an
// archive as its contents, even if the archive arrives in small parts.
func TestListing(t *testing.T) {
	t.Parallel()
	const name = "terraform-provider-x"
	long := strings.Repeat("terraform-provider-x and random bytes ", 20_000)
	many := []file{{name: name, content: "#!", header: mode(0o644)}}
	for i := range 20_000 {
		many = append(many, file{name: fmt.Sprintf("docs/%d", i)})
	}
	for test, files := range map[string][]file{
		"plain":               {{name: "docs/x.md", content: "text"}, {name: name, content: long, header: mode(0o755)}},
		"directories":         {{name: "docs/"}, {name: "docs/x.md", content: long}, {name: name, content: "#!", header: mode(0o755)}},
		"no executable":       {{name: "x", content: "text", header: mode(0o755)}},
		"not executable":      {{name: name, content: long, header: mode(0o644)}},
		"zipped on Windows":   {{name: name, content: "#!", header: made(10, 0x20)}},
		"a large directory":   many,
		"directories at last": {{name: name, content: long, header: made(3, 0)}, {name: "a/b/"}},
	} {
		data := packageOf(t, files...)
		want, err := mustRead(t, data).Contents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want.H1, want.H1Unpacked = "", ""
		for _, size := range []int{1 + len(data)/1000, 100_000, len(data)} {
			var l packagezip.Listing
			for rest := data; len(rest) > 0; rest = rest[min(size, len(rest)):] {
				_, _ = l.Write(rest[:min(size, len(rest))])
			}
			got, ok := l.Contents()
			if test == "a large directory" {
				if ok {
					t.Errorf("%s fits in the window", test)
				}
				continue
			}
			if diff := cmp.Diff(want, got); diff != "" || !ok {
				t.Errorf("%s in parts of %d bytes: %v, %s", test, size, ok, diff)
			}
			linux, windows := provider.Platform{OS: "linux", Arch: "amd64"}, provider.Platform{OS: "windows", Arch: "amd64"}
			_, err := packagezip.Check(bytes.NewReader(data), int64(len(data)), "x", linux)
			if problem := got.ModeProblem("x", linux); problem != "" && !strings.Contains(fmt.Sprint(err), problem) || got.ModeProblem("x", windows) != "" ||
				(problem == "") != (test == "plain" || test == "directories" || test == "no executable") {
				t.Errorf("%s: got %q", test, problem)
			}
		}
	}
	var empty packagezip.Listing
	if _, ok := empty.Contents(); ok {
		t.Error("an empty listing has contents")
	}
}

func mustRead(t *testing.T, data []byte) *packagezip.Reader {
	t.Helper()
	r, err := packagezip.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
