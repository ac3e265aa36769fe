package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestPages runs what the pages about registries and tools tell people to type,
// against registries that are as the pages say.
func TestPages(t *testing.T) {
	t.Parallel()
	for page, test := range map[string]struct {
		registry string
		// commands are how many the page has, so that none gets lost.
		commands int
	}{
		"goreleaser.md": {"registry", 7},
		"ghcr.md":       {"registry no-referrers=404", 4},
		"ecr.md":        {"registry no-create immutable", 3},
	} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
			if err != nil {
				t.Fatal(err)
			}
			blocks := codeBlocks(strings.ReplaceAll(string(text), "\r\n", "\n"))
			commands := commandsIn(blocks)
			if len(commands) != test.commands {
				t.Fatalf("%d commands, not %d: %q", len(commands), test.commands, commands)
			}
			script := "[windows] skip 'the programs are shell scripts'\n" + test.registry + "\n" + pageWorld + strings.Join(commands, "\n") + "\n" + pageFiles
			for _, b := range blocks {
				if b.language == "script" {
					script += "-- create-repository --\n" + b.text
				}
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, strings.TrimSuffix(page, ".md")+".txtar"), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			testscript.Run(t, scripts(dir))
		})
	}
}

// pageWorld is what the pages suppose: goreleaser's dist, a release at the
// origin, and syft in PATH.
const pageWorld = `
build dist widget 1.2.3 linux_amd64 darwin_arm64
sums dist widget 1.2.3
release hashicorp/null 3.2.4 plan9_sparc
chmod 755 create-repository
chmod 755 bin/syft
env PATH=$WORK/bin${:}$PATH
`

const pageFiles = `
-- create-repository --
of another page
-- bin/syft --
#!/bin/sh
exec make-sbom
`

type codeBlock struct{ language, text string }

// codeBlocks gives the fenced blocks of a page.
func codeBlocks(page string) []codeBlock {
	var blocks []codeBlock
	inside := false
	for line := range strings.Lines(page) {
		language, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && !inside:
			blocks = append(blocks, codeBlock{language: strings.TrimSpace(language)})
			inside = true
		case isFence:
			inside = false
		case inside:
			blocks[len(blocks)-1].text += line
		}
	}
	return blocks
}

// hosts are the registries of the pages.
var hosts = regexp.MustCompile(`ghcr\.io|123456789012\.dkr\.ecr\.eu-central-1\.amazonaws\.com`)

// commandsIn gives the tofu-oci commands, to be run in a script.
func commandsIn(blocks []codeBlock) []string {
	var commands []string
	for _, b := range blocks {
		for line := range strings.Lines(b.text) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "- run: ")
			if !strings.HasPrefix(line, "tofu-oci ") {
				continue
			}
			commands = append(commands, hosts.ReplaceAllString(line, "$$REGISTRY"))
			if strings.HasPrefix(line, "tofu-oci list ") {
				commands[len(commands)-1] += fmt.Sprintf("\nstdout %s", `'\d+\.\d+\.\d+'`)
			}
		}
	}
	return commands
}
