package main_test

import (
	"io"
	"strings"
	"testing"
	"time"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

// TestHelpSize checks that each help text fits on two screens of 80 columns and 40 lines, and
// that each flag is listed in a group.
func TestHelpSize(t *testing.T) {
	t.Parallel()
	app := main.NewApp(io.Discard, io.Discard)
	texts := map[string]string{"tofu-oci": app.CustomAppHelpTemplate}
	for _, c := range app.Commands {
		texts[c.Name] = c.CustomHelpTemplate
		for _, sub := range c.Subcommands {
			texts[sub.HelpName] = sub.CustomHelpTemplate
		}
	}
	for name, text := range texts {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) > 80 {
			t.Errorf("%s: %d lines", name, len(lines))
		}
		for _, line := range lines {
			isExample := strings.HasPrefix(line, "   ") && !strings.HasPrefix(line, "    ")
			if len(line) > 80 && !isExample && !strings.Contains(line, "https://") {
				t.Errorf("%s: line of %d characters: %s", name, len(line), line)
			}
		}
	}
	for _, c := range commandline.Describe(app, time.Time{}).Commands {
		for _, f := range c.Flags {
			if f.Group == "" || !strings.Contains(texts[c.Name()], "\n"+f.Group+":\n") {
				t.Errorf("%s --%s is in no group", c.Name(), f.Names[0])
			}
		}
	}
}
