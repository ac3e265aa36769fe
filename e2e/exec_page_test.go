//go:build unix

package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// quoted matches a tofu-oci command in the configuration of a pipeline or bot.
var quoted = regexp.MustCompile(`(?:- |run: |")(tofu-oci [^"\n]*)`)

// pageCommands returns all commands on a page. They include the commands in the
// configurations of pipelines and bots.
func pageCommands(t *testing.T, page string) (commands []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	language := ""
	for line := range strings.Lines(string(text)) {
		of, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence:
			language = of
		case language == "sh":
			commands = append(commands, strings.TrimSpace(line))
		case language != "":
			for _, match := range quoted.FindAllStringSubmatch(line, -1) {
				commands = append(commands, match[1])
			}
		}
	}
	return commands
}

// terragrunt replaces Terragrunt. It runs tofu in directories that are unknown to exec.
const terragrunt = "#!/bin/sh\nfor unit in live/*/; do tofu -chdir=\"$unit\" \"$2\" -input=false -lockfile=readonly || exit; done\n"

// TestExecPage runs all commands of docs/exec.md in a shell with the real tofu and
// terraform, and checks that the clients install the providers.
func TestExecPage(t *testing.T) {
	t.Parallel()
	const wanted = 16
	commands := pageCommands(t, "exec.md")
	if len(commands) != wanted {
		t.Fatalf("got %d commands, want %d:\n%s", len(commands), wanted, strings.Join(commands, "\n"))
	}
	// 1. Install the programs under the names that the page uses.
	bin, dir := t.TempDir(), t.TempDir()
	for name, program := range map[string]string{
		"tofu-oci": programs.tofuOCI, "tofu": programs.tofu, "tofu1.12.6": programs.tofu, "terraform": programs.terraform,
	} {
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(bin, "terragrunt"), terragrunt)
	if err := os.Chmod(filepath.Join(bin, "terragrunt"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"", "live/network", "live/cluster", "legacy"} {
		write(t, filepath.Join(dir, root, "main.tf"), mainTF)
	}
	// 2. Run all commands in one shell.
	_, config := serveOrigin(t, origintest.Options{}, world.release)
	registry, script := startRegistry(t), filepath.Join(t.TempDir(), "script")
	write(t, script, strings.NewReplacer("ghcr.io", registry, "registry.gitlab.com", registry, "hashicorp/random", "hashicorp/time").
		Replace("set -eux\n"+strings.Join(commands, "\n")+"\n"))
	cmd := command(t, "sh", script)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "ATLANTIS_TERRAFORM_VERSION=1.12.6", "XDG_CACHE_HOME=", "TOFU_OCI_CACHE=")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range cmd.Env {
		if home, is := strings.CutPrefix(entry, "HOME="); is {
			config = filepath.Join(home, ".tofurc") // the last setting takes precedence
		}
	}
	write(t, config, string(text))
	output(t, cmd)
	// 3. Check that all clients have installed the provider in their own directory.
	opentofu := provider.DefaultHost.String()
	for root, host := range map[string]string{"": opentofu, "live/network": opentofu, "live/cluster": opentofu, "legacy": terraformHost} {
		installed := filepath.Join(dir, root, ".terraform", "providers", host, "hashicorp", "time", fixture.TimeVersion)
		entries, err := os.ReadDir(installed)
		if err != nil || len(entries) == 0 || !entries[0].IsDir() {
			t.Errorf("%q has no package in %s: %v", root, installed, err)
		}
	}
}
