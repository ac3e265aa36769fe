//go:build linux

package report

import (
	"fmt"
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
		{"plan: 3 to mirror, 2 held back\n", "plan: 3 to mirror, 2<33> held</> back\n"},
		{"2 releases: 0 errors, 12 warnings, 1 note\n", "2 releases: 0 errors, 12<33> warnings</>, 1 note\n"},
		{"vpc 1.0.0 created oci-layout:vpc:1.0.0\n", "vpc 1.0.0<32> created</> oci-layout:vpc:1.0.0\n"},
		{"a/.terraform.lock.hcl unchanged\n  a/b 1.0.0  1 h1\n", "a/.terraform.lock.hcl<2> unchanged</>\n  a/b 1.0.0  1 h1\n"},
		{"mirror  a/b 1.0.0  main  selected\nhold    a/b 1.1.0  main  too new\n", "<32>mirror</>  a/b 1.0.0  main  selected\n<33>hold</>    a/b 1.1.0  main  too new\n"},
		{"1.0.0  denied   linux_amd64  denied by Bob\n1.1.0  pending  linux_amd64\n", "1.0.0  <31>denied</>   linux_amd64  denied by Bob\n1.1.0  <33>pending</>  linux_amd64\n"},
		{"  deleting tags  doesn't work  affects deny\n  tag list        works\n", "  deleting tags  <31>doesn't work</>  affects deny\n  tag list        <32>works</>\n"},
		{"1 part, 147.4 kB, created by tofu-oci\n", "1 part, 147.4 kB, created by tofu-oci\n"},
		{"no pending releases\n", "no pending releases\n"},
		{"  the file failed/created.zip was created\n", "  the file failed/created.zip was created\n"},
		{`{"what":"mirroring a/b 1.0.0 failed","count":"1  failed  "}` + "\n", `{"what":"mirroring a/b 1.0.0 failed","count":"1  failed  "}` + "\n"},
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

// TestColored checks that by default, only terminals are colored, and only without
// $NO_COLOR, and that --color takes precedence.
func TestColored(t *testing.T) { //nolint:paralleltest // the environment belongs to the process
	_, terminal := openTerminal(t, 80, 20)
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	check := func(about, when string, wantTerminal, wantFile bool) {
		t.Helper()
		for w, want := range map[io.Writer]bool{terminal: wantTerminal, file: wantFile, io.Discard: wantFile} {
			if _, is := Colored(w, when).(colorWriter); is != want {
				t.Errorf("%s, --color %s: %T is colored: %v", about, when, w, is)
			}
		}
	}
	for _, variables := range []struct {
		noColor, kind string
		wantTerminal  bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", variables.noColor)
		t.Setenv("TERM", variables.kind)
		about := fmt.Sprintf("%+v", variables)
		check(about, "", variables.wantTerminal, false)
		check(about, ColorAuto, variables.wantTerminal, false)
		check(about, ColorAlways, true, true)
		check(about, ColorNever, false, false)
	}
}

// TestStreamsColored checks that stdout and stderr are colored independently.
func TestStreamsColored(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	_, terminal := openTerminal(t, 80, 20)
	for _, test := range []struct {
		stdout, stderr         io.Writer
		format                 string
		wantStdout, wantStderr bool
	}{
		{terminal, io.Discard, Text, true, false}, {io.Discard, terminal, Text, false, true},
		{terminal, terminal, JSON, false, true},
	} {
		o, err := New(Options{Stdout: test.stdout, Stderr: test.stderr, Format: test.format, Quiet: true})
		if err != nil {
			t.Fatal(err)
		}
		_, stdout := o.stdout.(colorWriter)
		_, stderr := o.stderr.(colorWriter)
		if stdout != test.wantStdout || stderr != test.wantStderr {
			t.Errorf("%+v: stdout %v, stderr %v", test, stdout, stderr)
		}
	}
}
