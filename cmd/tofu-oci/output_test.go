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

// TestDebugOfEachCommand checks that every command has the flag --debug. For each
// command that sends requests, a script must run the command with this flag and with
// secrets. Some of the servers must echo the secrets.
func TestDebugOfEachCommand(t *testing.T) {
	t.Parallel()
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
	for _, file := range []string{"debug_secrets.txtar", "echo.txtar"} {
		script, err := os.ReadFile(filepath.Join("testdata", "script", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range asking {
			run := regexp.MustCompile(`(?m)^(code \d |\$ )?tofu-oci ` + name + ` `)
			if name == "serve" {
				run = regexp.MustCompile(`(?m)^server start `)
			}
			if !run.Match(script) {
				t.Errorf("%s does not run %s", file, name)
			}
		}
		if len(asking) < 12 || !strings.Contains(string(script), "\nenv TOFU_OCI_DEBUG=1\n") {
			t.Errorf("%s: %d commands make requests: %q", file, len(asking), asking)
		}
	}
}
