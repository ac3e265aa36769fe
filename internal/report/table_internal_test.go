//go:build linux

package report

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

// longDigest is a complete digest, and shortDigest is what a narrow terminal shows.
var (
	longDigest  = "sha256:" + strings.Repeat("0123456789abcdef", 4)
	shortDigest = "sha256:0123456789ab…"
)

// TestFitted checks that digests, and then the widest names in a table, are shortened to
// the terminal's width, unless they would become unreadable.
func TestFitted(t *testing.T) {
	t.Parallel()
	sentence := "a sentence that is longer than the terminal"
	name := "terraform-provider-null_3.2.4_darwin_arm64.zip"
	rows := []string{cells("linux_amd64", "9.1 MB", longDigest, sentence), cells("darwin_arm64", "size unknown", name, longDigest)}
	for columns, want := range map[int][]string{
		0:   {longDigest, name, sentence},
		200: {longDigest, name, sentence},
		99:  {shortDigest, name, sentence},
		85:  {shortDigest, "terraform-provide…_darwin_arm64.zip", sentence},
		60:  {shortDigest, name, sentence},
	} {
		got := (&Report{columns: columns}).table(rows)
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%d columns: missing %s:\n%s", columns, part, got)
			}
		}
		if columns == 0 || columns == 200 {
			continue
		}
		for line := range strings.Lines(fit(got, columns)) {
			if text.Columns(strings.TrimRight(line, "\n")) > columns {
				t.Errorf("%d columns: %s", columns, line)
			}
		}
	}
}

// TestReferencesFit checks that references of modules, which users copy, are wrapped.
func TestReferencesFit(t *testing.T) {
	t.Parallel()
	rows := []string{cells("oci://ghcr.io/acme-platform-team/modules/terraform/aws/vpc", "1.2.0", "registry.opentofu.org/acme/vpc/aws")}
	want := "oci://ghcr.io/acme-platform-team/modules/terraform/aws/vpc  1.2.0\n    registry.opentofu.org/acme/vpc/aws\n"
	if diff := cmp.Diff(want, fit((&Report{columns: 80}).table(rows), 80)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestFit checks how wide lines are shortened and wrapped.
func TestFit(t *testing.T) {
	t.Parallel()
	list := "hashicorp/null 3.2.4 created ghcr.io/acme/null:3.2.4@" + longDigest + "\n" +
		"hashicorp/null 3.2.3 created r.example.com/acme/providers/hashicorp/null:3.2.3@" + longDigest + "\n" +
		"  " + longDigest + "\n" +
		"  denied: it is slow, and old 日本語 東京都 日本語 東京都 日本語 東京都 日本語\n"
	want := "hashicorp/null 3.2.4 created ghcr.io/acme/null:3.2.4@" + shortDigest + "\n" +
		"hashicorp/null 3.2.3 created\n    r.example.com/acme/providers/hashicorp/null:3.2.3@" + shortDigest + "\n" +
		"  " + longDigest + "\n" +
		"  denied: it is slow, and old 日本語 東京都 日本語 東京都 日本語 東京都\n    日本語\n"
	if diff := cmp.Diff(want, fit(list, 75)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(list, fit(list, 0)); diff != "" {
		t.Errorf("without a terminal (-want +got)\n%s", diff)
	}
}

// TestFindingsFit checks that findings are wrapped, and that their remedies can be copied.
func TestFindingsFit(t *testing.T) {
	t.Parallel()
	command := "tofu-oci copy hashicorp/null@3.2.4 --from r.example.com/null@" + longDigest + " --to r.example.com/{type}"
	f := found{findings: []finding.Finding{finding.New(finding.Error, "tag-moved", "The tag 3.2.4 points to the index "+longDigest+".", finding.Remedy{Hint: "copy the index again", Command: command})}}
	want := "error: The tag 3.2.4 points to the index\n    " + shortDigest + ". [tag-moved]\n  copy the index again\n  " + command + "\n"
	if diff := cmp.Diff(want, f.text(50)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestListOnTerminal checks that a terminal shows a shortened list, and that a file
// contains the complete list.
func TestListOnTerminal(t *testing.T) {
	t.Parallel()
	line := "hashicorp/null 3.2.4 created ghcr.io/acme/null:3.2.4@"
	screen, terminal := openTerminal(t, 80, 20)
	_, sizeless := openTerminal(t, 0, 0)
	var file strings.Builder
	for _, test := range []struct {
		stdout  io.Writer
		columns int
	}{{terminal, 80}, {sizeless, 80}, {&file, 0}} {
		o, err := New(Options{Stdout: test.stdout, Stderr: io.Discard, Color: ColorNever, Quiet: true})
		if err != nil {
			t.Fatal(err)
		}
		if o.columns != test.columns {
			t.Errorf("%d columns, want %d", o.columns, test.columns)
		}
		if test.stdout != sizeless {
			o.done(Item{}, line+longDigest+"\n")
		}
	}
	shown, err := bufio.NewReader(screen).ReadString('\n')
	if err != nil || shown != line+shortDigest+"\r\n" {
		t.Errorf("the terminal shows %q, %v", shown, err)
	}
	if file.String() != line+longDigest+"\n" {
		t.Errorf("the file contains %q", file.String())
	}
}
