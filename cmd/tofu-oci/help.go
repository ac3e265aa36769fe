package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

const (
	// helpWidth is how many columns help texts use: what a terminal has.
	helpWidth = 80
	// flagColumn and commandColumn are where explanations begin.
	flagColumn, commandColumn = 29, 12
)

// asTemplate makes a template for the library of a text that is none.
func asTemplate(text string) string { return strings.ReplaceAll(text, "{{", "{{`{{`}}") }

// appHelp is the program's help.
func appHelp(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s COMMAND [ARGUMENT...] [FLAG...]\n\n%s.\n\n%s\n\nCommands:\n", app.Name, capital(app.Usage), app.Description)
	for _, c := range app.Commands {
		helpEntry(&b, commandColumn, c.Name, c.Usage)
	}
	b.WriteString("\nFlags:\n")
	helpEntry(&b, flagColumn, "--help, -h", "show this help; after a command, that command's")
	helpEntry(&b, flagColumn, "--version, -v", "print the version; the same as the command")
	return b.String()
}

// commandHelp is a command's help.
func commandHelp(c *cli.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: tofu-oci %s %s\n\n%s.\n\n%s\n\n", c.HelpName, c.ArgsUsage, capital(c.Usage), c.Description)
	if len(c.Subcommands) > 0 {
		b.WriteString("Commands:\n")
		for _, sub := range c.Subcommands {
			helpEntry(&b, commandColumn, sub.Name, sub.Usage)
		}
		b.WriteString("\n")
	}
	if readsConfiguration(c) {
		b.WriteString(reads)
	}
	b.WriteString("Flags:\n")
	for _, flag := range c.Flags {
		if f, ok := flag.(cli.DocGenerationFlag); ok {
			helpEntry(&b, flagColumn, flagForm(f), flagUsage(f)+variableText(c, flag))
		}
	}
	helpEntry(&b, flagColumn, "--help, -h", "show this help")
	return b.String()
}

// reads is in the help of every command that reads OpenTofu's configuration.
const reads = `Reads:
  OpenTofu's CLI configuration: --config, or TF_CLI_CONFIG_FILE, or ~/.tofurc and
  the like. Logins for OCI registries: its oci_credentials blocks, then the text in
  $DOCKER_AUTH_CONFIG, $REGISTRY_AUTH_FILE, $DOCKER_CONFIG/config.json, Podman's
  auth.json, ~/.docker/config.json and ~/.dockercfg, with the helpers that they
  name. Tokens for origin registries: TF_TOKEN_HOST, then its credentials blocks,
  then its credentials_helper.

`

func readsConfiguration(c *cli.Command) bool {
	return slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return f.Names()[0] == "config" })
}

// flagForm writes a flag's names and the word for its value, which the usage
// text has in backquotes.
func flagForm(f cli.DocGenerationFlag) string {
	var names []string
	for _, name := range f.Names() {
		names = append(names, strings.Repeat("-", min(len(name), 2))+name)
	}
	form := strings.Join(names, ", ")
	if parts := strings.Split(f.GetUsage(), "`"); len(parts) == 3 {
		form += " " + parts[1]
	}
	return form
}

// flagUsage explains a flag, with its default where that is more than nothing.
func flagUsage(f cli.DocGenerationFlag) string {
	text := strings.ReplaceAll(f.GetUsage(), "`", "")
	switch value := f.GetValue(); value {
	case "", "0", "false", "[]":
	default:
		text += " (default: " + strings.Replace(value, "m0s", "m", 1) + ")"
	}
	return text
}

// variableText names the variable that stands for a flag.
func variableText(c *cli.Command, flag cli.Flag) string {
	if name := variableOf(c, flag); name != "" {
		return " [$" + name + "]"
	}
	return ""
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

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
