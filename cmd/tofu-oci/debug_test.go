package main_test

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
)

// TestDebugOfEachCommand: --debug is a flag of every command, and each command that
// makes requests is run with it, and with secrets.
func TestDebugOfEachCommand(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join("testdata", "script", "debug_secrets.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var asking []string
	for _, c := range commandsOf(main.NewApp(io.Discard, io.Discard).Commands) {
		has := func(name string) bool {
			return slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		}
		if !has("debug") {
			t.Errorf("%s has no --debug", c.HelpName)
		}
		if has("timeout") {
			asking = append(asking, c.HelpName)
		}
	}
	for _, name := range asking {
		run := regexp.MustCompile(`(?m)^(code \d )?tofu-oci ` + name + ` `)
		if name == "serve" {
			run = regexp.MustCompile(`(?m)^server start `)
		}
		if !run.Match(script) {
			t.Errorf("the script does not run %s", name)
		}
	}
	if len(asking) < 12 || !strings.Contains(string(script), "\nenv TOFU_OCI_DEBUG=1\n") {
		t.Errorf("%d commands make requests: %q", len(asking), asking)
	}
}
