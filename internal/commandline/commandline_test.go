package commandline_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

var update = flag.Bool("update", false, "write the golden files again")

// sample returns a program that has all kinds of commands and flags. Its strings
// contain special characters of shells and manual pages.
func sample() commandline.Program {
	help := commandline.Flag{Names: []string{"help", "h"}, Description: "show this help"}
	return commandline.Program{
		Name: "carry-it", Summary: "carry things", Text: "First it's said.\n.then said\n   as  `it` \"is\"\n\nLast.", Date: time.Date(2026, 8, 1, 23, 0, 0, 0, time.UTC),
		Flags: []commandline.Flag{help},
		Commands: []commandline.Command{
			{
				Path: []string{"lift"}, Summary: "lift what's [heavy]: \\ or $HOME", Usage: "PATH... [FLAG...]", Text: "It lifts. Then it stops.\n\nExamples:\n   carry-it lift 'a b'\n\n   carry-it lift ~/c",
				Arguments: commandline.Values{Kind: commandline.Files},
				Flags: []commandline.Flag{
					{Names: []string{"how", "w"}, Placeholder: "WAY:X", Description: "WAY; whatever", Values: commandline.Values{Kind: commandline.OneOf, Choices: []string{"up", "down"}}, Repeatable: true, Variable: "CARRY_HOW"},
					{Names: []string{"into"}, Placeholder: "DIR", Description: "into DIR", Values: commandline.Values{Kind: commandline.Directories}},
					{Names: []string{"list"}, Placeholder: "FILE", Description: "from FILE", Values: commandline.Values{Kind: commandline.Files}},
					{Names: []string{"name"}, Placeholder: "NAME", Description: "NAME"},
					{Names: []string{"quiet", "q"}, Description: "don't tell"},
					help,
				},
			},
			{Path: []string{"run"}, Summary: "run something", Usage: "-- COMMAND...", Arguments: commandline.Values{Kind: commandline.Programs}, Flags: []commandline.Flag{help}},
			{Path: []string{"put"}, Summary: "put it", Usage: "down [FLAG...]", Flags: []commandline.Flag{help}},
			{Path: []string{"put", "down"}, Summary: "put it down", Arguments: commandline.Values{Kind: commandline.Nothing}, Flags: []commandline.Flag{help}},
		},
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	p := sample()
	written := p.Manual()
	written["carry-it.bash"], written["carry-it.zsh"], written["carry-it.fish"], written["carry-it.ps1"] = p.Bash(), p.Zsh(), p.Fish(), p.PowerShell()
	files, err := os.ReadDir("testdata")
	if err != nil || len(files) != len(written) && !*update {
		t.Errorf("%d golden files for %d texts, %v", len(files), len(written), err)
	}
	for name, got := range written {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: -update writes it again (-want +got)\n%s", name, diff)
		}
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	for words, found := range map[string]bool{"": true, "lift": true, "put": true, "put down": true, "down": false, "lift x": false} {
		page, ok := sample().Page(strings.Fields(words)...)
		if ok != found || ok != strings.Contains(page, "\n.Sh NAME\n") {
			t.Errorf("%q: %v, want %v:\n%s", words, ok, found, page)
		}
	}
}

// TestPageUnknownDate checks that a page without a date doesn't contain the current date.
func TestPageUnknownDate(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Date = time.Time{}
	if page, _ := p.Page(); !strings.Contains(page, "\n.Dd\n") {
		t.Errorf("got\n%s", page)
	}
}
