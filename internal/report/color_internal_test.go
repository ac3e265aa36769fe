//go:build linux

package report

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestColors checks which words are colored.
func TestColors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"tofu-oci: mirroring a/b: not found\nhint: check the address\n", "<31>tofu-oci:</> mirroring a/b: not found\n<36>hint:</> check the address\n"},
		{"warning: the key expired\n", "<33>warning:</> the key expired\n"},
		{"error: a tag is missing [tag-missing]\n", "<31>error:</> a tag is missing [tag-missing]\n"},
		{"hashicorp/null 3.2.4 created ghcr.io/created:3.2.4\n", "hashicorp/null 3.2.4<32> created</> ghcr.io/created:3.2.4\n"},
		{"hashicorp/null 3.2.4 would be replaced x\n", "hashicorp/null 3.2.4 would be<33> replaced</> x\n"},
		{"2 created, 1 unchanged, 1 failed · 41 s\n", "2<32> created</>, 1<2> unchanged</>, 1<31> failed</> · 41 s\n"},
		{"dry run: 1 repaired · 0.0 s\n", "dry run: 1<32> repaired</> · 0.0 s\n"},
		{"  the file failed/created.zip was created\n", "  the file failed/created.zip was created\n"},
	} {
		var b strings.Builder
		if n, err := io.WriteString(colorWriter{&b}, test.text); n != len(test.text) || err != nil {
			t.Errorf("%q: %d bytes, %v", test.text, n, err)
		}
		got := regexp.MustCompile(`\x1b\[([0-9]+)m`).ReplaceAllString(strings.ReplaceAll(b.String(), "\x1b[0m", "</>"), "<$1>")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

// TestColored checks that only terminals are colored, and only without $NO_COLOR.
func TestColored(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	_, terminal := openTerminal(t, 80, 20)
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	isColored := func(w io.Writer) bool { _, is := Colored(w).(colorWriter); return is }
	if !isColored(terminal) || isColored(file) || isColored(io.Discard) {
		t.Error("a terminal is not colored, or a different file is")
	}
	t.Setenv("NO_COLOR", "1")
	if isColored(terminal) {
		t.Error("the terminal is colored in spite of $NO_COLOR")
	}
}

// TestFitted checks that the names in a table are shortened to the terminal's width.
func TestFitted(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	rows := []string{cells("linux_amd64", "9.1 MB", digest, "a sentence that is longer than the terminal"), cells("darwin_arm64", "size unknown", "–")}
	o := &Report{}
	if got := o.table(rows); !strings.Contains(got, digest) {
		t.Errorf("a table for a file is shortened:\n%s", got)
	}
	for columns, want := range map[int]string{60: "sha256:01234567", 40: "sha256:0…9abcdef"} {
		o.columns = columns
		got := o.table(rows)
		if !strings.Contains(got, want) || strings.Contains(got, digest) || !strings.Contains(got, "a sentence that is longer than the terminal\n") {
			t.Errorf("%d columns:\n%s", columns, got)
		}
	}
}
