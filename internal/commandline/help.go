package commandline

import (
	"fmt"
	"strings"
)

const (
	// helpWidth is how many columns help texts use: what a terminal has.
	helpWidth = 80
	// flagColumn and commandColumn are where explanations begin.
	flagColumn, commandColumn = 29, 12
)

// reads is in the help of every command that reads OpenTofu's configuration.
const reads = `Reads:
  OpenTofu's CLI configuration: --config, or TF_CLI_CONFIG_FILE, or ~/.tofurc and
  the like. Logins for OCI registries: its oci_credentials blocks, then the text in
  $DOCKER_AUTH_CONFIG, $REGISTRY_AUTH_FILE, $DOCKER_CONFIG/config.json, Podman's
  auth.json, ~/.docker/config.json and ~/.dockercfg, with the helpers that they
  name. Tokens for origin registries: TF_TOKEN_HOST, then its credentials blocks,
  then its credentials_helper.

`

// help is the program's help.
func (p Program) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s COMMAND [ARGUMENT...] [FLAG...]\n\n%s\n\n%s\n\nCommands:\n", p.Name, sentence(p.About), p.Text)
	p.commandEntries(&b, nil)
	b.WriteString("\nFlags:\n")
	flagEntries(&b, p.Flags)
	return b.String()
}

// commandHelp is a command's help.
func (p Program) commandHelp(c Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s %s %s\n\n%s\n\n%s\n\n", p.Name, c.Name(), c.Usage, sentence(c.About), c.Text)
	if len(p.below(c.Words)) > 0 {
		b.WriteString("Commands:\n")
		p.commandEntries(&b, c.Words)
		b.WriteString("\n")
	}
	b.WriteString(c.Reads + "Flags:\n")
	flagEntries(&b, c.Flags)
	return b.String()
}

func (p Program) commandEntries(b *strings.Builder, parent []string) {
	for _, c := range p.below(parent) {
		helpEntry(b, commandColumn, c.Words[len(c.Words)-1], c.About)
	}
}

func flagEntries(b *strings.Builder, flags []Flag) {
	for _, f := range flags {
		form, about := strings.Join(f.Spellings(), ", "), f.About
		if f.Word != "" {
			form += " " + f.Word
		}
		for _, variable := range f.Environment {
			about += " [$" + variable + "]"
		}
		helpEntry(b, flagColumn, form, about)
	}
}

// helpEntry writes a word and its explanation, in two columns.
func helpEntry(b *strings.Builder, column int, word, explanation string) {
	left := word
	if len(left) > column-3 {
		fmt.Fprintf(b, "  %s\n", left)
		left = ""
	}
	for _, line := range wrapped(explanation, helpWidth-column) {
		fmt.Fprintf(b, "  %-*s%s\n", column-2, left, line)
		left = ""
	}
}

// wrapped breaks a text into lines of at most width characters, between words.
func wrapped(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		switch {
		case lines[last] == "":
			lines[last] = word
		case len(lines[last])+1+len(word) <= width:
			lines[last] += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}
