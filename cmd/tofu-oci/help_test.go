package main_test

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

// TestHelpFiles checks that each command has a help text, and that each file belongs to
// a command.
func TestHelpFiles(t *testing.T) {
	t.Parallel()
	program := commandline.Describe(main.NewApp(io.Discard, io.Discard), time.Time{})
	names := []string{program.Name + ".txt", "flags.txt"}
	for _, c := range program.Commands {
		names = append(names, strings.Join(c.Path, "-")+".txt")
		if c.Summary == "" || c.Usage == "" || c.Text == "" {
			t.Errorf("%s has no summary, synopsis, or description", c.Name())
		}
	}
	if program.Summary == "" || program.Text == "" {
		t.Error("the program has no summary or description")
	}
	files, err := os.ReadDir("help")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !slices.Contains(names, file.Name()) {
			t.Errorf("help/%s belongs to no command", file.Name())
		}
	}
}

// TestHelpSize checks that a help text has at most 60 lines of 80 characters and three
// examples.
func TestHelpSize(t *testing.T) {
	t.Parallel()
	check := func(name, text string) {
		_, examples, _ := strings.Cut(text, "\nExamples:\n")
		if n := strings.Count(examples, "\n   #"); n > 3 {
			t.Errorf("%s: %d examples", name, n)
		}
		if n := strings.Count(text, "\n"); n > 60 {
			t.Errorf("%s: %d lines", name, n)
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > 80 && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s: line of %d characters: %s", name, utf8.RuneCountInString(line), line)
			}
		}
	}
	for _, c := range commandline.Describe(main.NewApp(io.Discard, io.Discard), time.Time{}).Commands {
		_, text, _ := execute(t, append(slices.Clone(c.Path), "--help")...)
		check(c.Name(), text)
	}
	for _, args := range [][]string{{"help"}, {"help", "flags"}} {
		_, text, _ := execute(t, args...)
		check(strings.Join(args, " "), text)
	}
}
