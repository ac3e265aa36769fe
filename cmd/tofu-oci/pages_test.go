package main_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v4"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// TestPages runs the commands of documentation pages in the environment that the pages
// describe.
func TestPages(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for page, test := range map[string]struct {
		registry string
		// commands is the number of commands on the page. The test fails if it finds a
		// different number.
		commands int
	}{
		"../README.md":                     {"registry\nrelease hashicorp/random 3.6.0 $HERE darwin_arm64 signed=good\nenv PATH=$WORK/clients${:}$PATH", 4},
		"get-started.md":                   {"registry\nrelease hashicorp/random 3.6.0 $HERE darwin_arm64 signed=good\nenv PATH=$WORK/clients${:}$PATH", 4},
		"concepts.md":                      {"registry", 4},
		"install.md":                       {"registry", 2},
		"goreleaser.md":                    {"registry\nkeys\ncp keys/good.asc acme.pub", 6},
		"ghcr.md":                          {"registry no-referrers=404", 2},
		"ecr.md":                           {"registry no-create immutable", 3},
		"registries.md":                    {"registry", 1},
		"ci.md":                            {locked, 1},
		"gates.md":                         {declared, 2},
		"sboms.md":                         {"registry\nrelease acme/widget 1.2.3 linux_amd64\ntofu-oci mirror acme/widget --to $REGISTRY/acme/providers/{namespace}/{type}", 2},
		"controls.md":                      {"registry\nrelease hashicorp/random 3.7.1 plan9_sparc published=2160h\ntofu-oci mirror hashicorp/random --to $REGISTRY/acme/providers/{namespace}/{type}", 2},
		"approval.md":                      {"registry\nrelease hashicorp/random 3.7.1 plan9_sparc", 5},
		"../deploy/github/approve.yml":     {"registry\nenv RELEASE=hashicorp/null@3.2.4", 3},
		"../deploy/github/lock.yml":        {locked, 1},
		"modules.md":                       {moduleWorld, 15},
		"operations.md":                    {locked, 4},
		"migrate.md":                       {migrating, 8},
		"sync.md":                          {declared, 11},
		"../deploy/kubernetes/mirror.yaml": {locked, 1},
		"serve.md":                         {"registry\nexec sh -c 'umask 077; od -An -v -tx1 -N32 /dev/urandom | tr -d \" \\n\" >archive.key'", 11},
		"lock.md":                          {"registry\nrelease hashicorp/random 3.6.0 linux_amd64 darwin_arm64", 11},
		"airgap.md":                        {airGap, 17},
		"trust.md":                         {locked + "\nrelease hashicorp/random 3.7.0 linux_amd64 signed=other\nbuild zips rocket 1.2.3 linux_amd64\nsecret-key sender signing.asc", 4},
		"exec.md":                          {"registry\nrelease hashicorp/random 3.6.0 plan9_sparc $HERE\nenv PATH=$WORK/clients${:}$PATH", 14},

		"../" + starter + "README.md":                    {newStarter("github"), 3},
		"../" + starter + ".github/workflows/mirror.yml": {newStarter("github"), 2},
		"../" + starter + ".gitlab-ci.yml":               {newStarter("gitlab"), 2},
	} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
			if err != nil {
				t.Fatal(err)
			}
			blocks := codeBlocks(strings.ReplaceAll(string(text), "\r\n", "\n"))
			if filepath.Ext(page) != ".md" {
				blocks = []codeBlock{{"yaml", string(text)}}
			}
			commands := commandsIn(t, blocks)
			if len(commands) != test.commands {
				t.Fatalf("%d commands, not %d: %q", len(commands), test.commands, commands)
			}
			script := "[windows] skip 'the programs are shell scripts'\n" + test.registry + "\n" + pageWorld + localHosts(blocks) + strings.Join(commands, "\n") + "\n" + pageFiles
			for _, b := range blocks {
				switch name, isFile := strings.CutPrefix(b.text, "# "); {
				case b.language == "script":
					script += "-- create-repository --\n" + b.text
				case isFile && (b.language == "text" || b.language == "hcl" || strings.HasPrefix(b.text, "# gate.sh\n")):
					name, _, _ = strings.Cut(name, "\n")
					script += "-- " + name + " --\n" + b.text
				}
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(page), ".md")+".txtar"), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			testscript.Run(t, scripts(dir))
		})
	}
}

// airGap is a script that creates signed releases and prepares the target machine.
const airGap = `registry
keys
secret-key sender sender.asc canary-passphrase
cp sender.asc sender.pub
env TOFU_OCI_SIGN_PASSPHRASE=canary-passphrase
release hashicorp/random 3.6.0 linux_amd64 $HERE signed=good
release hashicorp/tls 4.1.0 linux_amd64 $HERE signed=good
release hashicorp/tls 5.0.0 linux_amd64 $HERE signed=good
release hashicorp/time 0.14.2 linux_amd64 $HERE signed=good
env PATH=$WORK/clients${:}$PATH`

// locked is a script that creates signed releases and a configuration with a lock file
// that selects them.
const locked = `registry
keys
release hashicorp/random 3.6.0 linux_amd64 darwin_arm64 $HERE signed=good
tofu-oci mirror hashicorp/random --to $REGISTRY/acme/providers/{namespace}/{type}
tofu-oci lock --root live/network --from $REGISTRY/acme/providers/{namespace}/{type}`

// declared is a script that creates the files and variables that declarations use. The
// registry stores no other providers.
const declared = locked + `
tofu-oci trust init hashicorp/random --from $REGISTRY/acme/providers/{namespace}/{type} --trust trust.hcl
env TOFU_OCI_SYNC_BACKUP=$REGISTRY/backup`

// moduleWorld is a script that creates modules in the origin registry, a pending version,
// an older version of a pushed module, and a Git work tree with a tag.
const moduleWorld = `registry
module terraform-aws-modules/vpc/aws 5.0.0
module terraform-aws-modules/eks/aws 20.0.0 'text=module "vpc" { source = "terraform-aws-modules/vpc/aws" }'
release hashicorp/random 3.6.0 linux_amd64
module terraform-aws-modules/vpc/aws 5.1.0
tofu-oci module mirror terraform-aws-modules/vpc/aws@5.1.0 --stage --to $REGISTRY/acme/modules/{namespace}/{name}/{system}
tofu-oci module push vpc --to $REGISTRY/acme/modules/vpc --version 1.1.0
exec git init --quiet
exec git add main.tf
exec git -c user.name=jane -c user.email=jane@example.com commit --quiet --message=x
exec git tag v1.2.0
cp main.tf live/main.tf`

// starter is the directory of the starter repository.
const starter = "templates/starter/"

// newStarter is a script that creates a starter repository for a CI system, whose target
// is in the local registry.
func newStarter(ci string) string {
	return "registry\ntofu-oci sync init --ci " + ci + "\nexec sed -i.bak 's#ghcr.io#'$REGISTRY'#' mirror.hcl"
}

// migrating is a script that creates a network mirror, its directory, and a provider of a
// different registry.
const migrating = locked + `
tofu-oci pull hashicorp/random --layout network --platform linux_amd64 --platform darwin_arm64 --from $REGISTRY/acme/providers/{namespace}/{type} --dir www/providers
cp www/providers/registry.opentofu.org/hashicorp/random/terraform-provider-random_3.6.0_linux_amd64.zip terraform-provider-random_3.6.0_linux_amd64.zip
mkdir mirror/registry.opentofu.org/hashicorp/random
cp terraform-provider-random_3.6.0_linux_amd64.zip mirror/registry.opentofu.org/hashicorp/random/terraform-provider-random_3.6.0_linux_amd64.zip
release acme/widget 1.2.3 linux_amd64 signed=good`

// pageWorld is a script that creates what the pages assume: GoReleaser's dist
// directory, releases in the origin registry, configurations, and syft in PATH.
const pageWorld = `
build dist widget 1.2.3 linux_amd64 darwin_arm64
sums dist widget 1.2.3 good
release hashicorp/null 3.2.4 plan9_sparc linux_amd64 published=2160h
release hashicorp/time 0.14.2 plan9_sparc linux_amd64 published=2160h
chmod 755 create-repository
chmod 755 bin/syft
chmod 755 clients/tofu
chmod 755 clients/terraform
chmod 755 clients/terragrunt
env PATH=$WORK/bin${:}$PATH
`

const pageFiles = `
-- vpc/main.tf --
variable "name" {}
-- live/network/main.tf --
resource "random_id" "x" {}
-- live/cluster/main.tf --
resource "random_id" "x" {}
-- main.tf --
resource "random_id" "x" {}
-- legacy/main.tf --
resource "random_id" "x" {}
-- clients/tofu --
#!/bin/sh
exec child "$@"
-- clients/terraform --
#!/bin/sh
exec child "$@"
-- clients/terragrunt --
#!/bin/sh
exec child "$@"
-- create-repository --
of another page
-- providers.txt --
hashicorp/random
-- config/providers.txt --
hashicorp/random
-- bin/syft --
#!/bin/sh
exec make-sbom
`

type codeBlock struct{ language, text string }

// codeBlocks returns the fenced code blocks of a page.
func codeBlocks(page string) []codeBlock {
	var blocks []codeBlock
	inside := false
	for line := range strings.Lines(page) {
		language, isFence := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
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

// pageServer is the address of the server on pages.
const pageServer = "http://127.0.0.1:8080"

// places matches directories that the pages assume to exist.
var places = regexp.MustCompile(`([ =:])/(srv|config|media/usb)/`)

// quotedTemplate matches a repository template in quotes.
var quotedTemplate = regexp.MustCompile(`'(ghcr\.io/[^' ]*)'`)

// servers contains the servers that replace the servers on the pages.
var servers = strings.NewReplacer(pageServer, "$SERVER", "mirror.example.com", "$WEB", "terraform.example.com", "$ORIGIN", "${{ github.repository }}", "acme/modules/network")

// hosts matches the registries that the pages mention.
var hosts = regexp.MustCompile(`registry\.inside\.example|ghcr\.io|registry\.gitlab\.com|123456789012\.dkr\.ecr\.eu-central-1\.amazonaws\.com`)

// localHosts returns commands that replace the registries in the declarations of a page.
func localHosts(blocks []codeBlock) (commands string) {
	for _, b := range blocks {
		if name, isFile := strings.CutPrefix(b.text, "# "); isFile && b.language == "hcl" {
			name, _, _ = strings.Cut(name, "\n")
			commands += fmt.Sprintf("exec sh -c 'sed \"s#%s#$REGISTRY#\" %s >declaration && mv declaration %[2]s'\n", "ghcr.io", name)
		}
	}
	return commands
}

// commandsIn returns a page's tofu-oci commands for a script. They include command
// lines, the commands of containers, requests to a server that a command starts, and
// commands that create archives. A block "text output" contains lines of the output of
// the preceding command, in which … represents any text. A block "text error" contains
// the error messages of the preceding command, whose exit code is 4.
func commandsIn(t *testing.T, blocks []codeBlock) []string {
	t.Helper()
	var commands []string
	for _, b := range blocks {
		if kind, printed := strings.CutPrefix(b.language, "text "); printed { // by the last command
			last := &commands[len(commands)-1]
			*last += printedLines(kind, b.text)
			if kind == "error" {
				*last = "code 4 " + *last
			}
			continue
		}
		for line := range strings.Lines(b.text) {
			line = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(line), "- "), "run: ")
			line, _, _ = strings.Cut(line, " >> ") // the output file is irrelevant
			if strings.HasPrefix(line, "tofu-oci ") {
				line, _, _ = strings.Cut(strings.ReplaceAll(line, "~/", "$HOME/"), " > ")
				line, _, _ = strings.Cut(line, " || ")
			}
			line = quotedTemplate.ReplaceAllString(strings.ReplaceAll(line, `"$RELEASE"`, "$RELEASE"), "$1") // quotes would prevent the expansion of variables
			asked := strings.ReplaceAll(line, "'", "")
			switch path, asks := strings.CutPrefix(asked, "curl -fsS "+pageServer); {
			case b.language == "sh" && slices.Contains([]string{"tar", "sha256sum"}, strings.Fields(line + " -")[0]):
				commands = append(commands, "exec sh -c '"+line+"'")
			case strings.HasPrefix(line, "tofu-oci serve "):
				commands = append(commands, "server start"+strings.TrimPrefix(line, "tofu-oci serve"))
			case strings.HasPrefix(line, "tofu-oci "):
				commands = append(commands, servers.Replace(line))
			case asks:
				commands = append(commands, "get 200 "+path)
			}
		}
		if b.language == "yaml" || b.language == "json" {
			var document any
			if err := yaml.Unmarshal([]byte(b.text), &document); err != nil {
				t.Errorf("%v in\n%s", err, b.text)
			}
			commands = append(commands, containersIn(document)...)
		}
	}
	for i, command := range commands {
		commands[i] = places.ReplaceAllString(hosts.ReplaceAllString(command, "$$REGISTRY"), "$1$$WORK/$2/")
		if strings.HasPrefix(command, "tofu-oci exec ") {
			commands[i] += fmt.Sprintf("\nstdout %s", `'^package: .*/hashicorp/random/'`)
		}
		if strings.HasPrefix(command, "tofu-oci list ") {
			commands[i] += fmt.Sprintf("\nstdout %s", `'\d+\.\d+\.\d+'`)
		}
	}
	return commands
}

// printedLines returns script commands that check the output (kind "output") or the error
// messages (kind "error") of the preceding command.
func printedLines(kind, text string) (checks string) {
	stream := map[string]string{"output": "stdout", "error": "stderr"}[kind]
	for line := range strings.Lines(text) {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSuffix(line, "\n")), "…", ".*")
		checks += "\n" + stream + " '^" + strings.ReplaceAll(pattern, "'", "''") + "$'"
	}
	return checks
}

// containersIn returns the commands of containers in a Kubernetes object, and the
// commands of configured bots.
func containersIn(document any) []string {
	var commands []string
	switch value := document.(type) {
	case []any:
		for _, one := range value {
			commands = append(commands, containersIn(one)...)
		}
	case map[string]any:
		if command, ok := value["command"].([]any); ok && len(command) == 1 && command[0] == "tofu-oci" {
			args, _ := value["args"].([]any)
			return []string{strings.Trim(fmt.Sprint(append(command, args...)), "[]")}
		}
		if command, ok := value["postCreateCommand"].(string); ok {
			return []string{command}
		}
		if all, ok := value["commands"].([]any); ok {
			for _, command := range all {
				commands = append(commands, fmt.Sprint(command))
			}
			return commands
		}
		for _, one := range value {
			commands = append(commands, containersIn(one)...)
		}
	}
	return commands
}

// flagSpan matches a flag on a page, and commandSpan matches a command.
var (
	flagSpan    = regexp.MustCompile("`(?:tofu-oci (?:sync )?[a-z]+ )?--([a-z0-9-]+)")
	commandSpan = regexp.MustCompile("`tofu-oci ([a-z]+)")
)

// TestPagesUseExistingFlags checks that the commands and flags on the pages exist.
func TestPagesUseExistingFlags(t *testing.T) {
	t.Parallel()
	flags, commands := map[string]bool{"help": true, "version": true, "attestation": true /* of install.sh */}, map[string]bool{}
	for _, command := range main.NewApp(io.Discard, io.Discard).Commands {
		commands[command.Name] = true
	}
	for _, command := range commandsOf(main.NewApp(io.Discard, io.Discard).Commands) {
		for _, flag := range command.Flags {
			for _, name := range flag.Names() {
				flags[name] = true
			}
		}
	}
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	named := 0
	for _, page := range append(pages, filepath.Join("..", "..", "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for what, of := range map[*regexp.Regexp]map[string]bool{flagSpan: flags, commandSpan: commands} {
			for _, match := range what.FindAllStringSubmatch(string(text), -1) {
				if named++; !of[match[1]] {
					t.Errorf("%s names %s, which is not there", filepath.Base(page), match[0][1:])
				}
			}
		}
	}
	if named < 50 {
		t.Errorf("only %d were found", named)
	}
}
