package main_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
)

var update = flag.Bool("update", false, "write docs/cli.md and the scripts' expected output again")

// TestDocs checks that docs/cli.md consists of testdata/cli.md and the help texts of all
// commands.
func TestDocs(t *testing.T) {
	t.Parallel()
	frame, err := os.ReadFile(filepath.Join("testdata", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(string(frame), "{{COMMANDS}}\n", commandsSection(t), 1)
	path := filepath.Join("..", "..", "docs", "cli.md")
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, strings.ReplaceAll(string(got), "\r\n", "\n")); diff != "" {
		t.Errorf("docs/cli.md is stale: make docs writes it again (-want +got)\n%s", diff)
	}
}

func commandsSection(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "## tofu-oci\n\n%s\n### tofu-oci help flags\n\n%s", helpBlock(t), helpFor(t, "help", "flags"))
	for _, command := range main.NewApp(io.Discard, io.Discard).Commands {
		fmt.Fprintf(&b, "\n## tofu-oci %s\n\n%s", command.Name, helpBlock(t, command.Name))
		for _, sub := range command.Subcommands {
			fmt.Fprintf(&b, "\n### tofu-oci %s\n\n%s", sub.HelpName, helpBlock(t, command.Name, sub.Name))
		}
	}
	return b.String()
}

// helpBlock returns the help text of a command as a code block.
func helpBlock(t *testing.T, command ...string) string {
	t.Helper()
	return helpFor(t, append(slices.Clone(command), "--help")...)
}

// helpFor runs a command line that prints help, and returns the output as a code block.
func helpFor(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := execute(t, args...)
	if code != 0 || stderr != "" {
		t.Fatalf("%v: exit code %d: %s", args, code, stderr)
	}
	return "```text\n" + stdout + "```\n"
}
