package main_test

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

// TestHelpFiles checks that each command has a help text, and that each file belongs to
// a command.
func TestHelpFiles(t *testing.T) {
	t.Parallel()
	program := commandline.Describe(main.NewApp(io.Discard, io.Discard), time.Time{})
	names := []string{program.Name + ".txt"}
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
