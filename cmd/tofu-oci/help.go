package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

const (
	// helpWidth is how many columns help texts use: what a terminal has.
	helpWidth = 80
	// helpColumn is where the explanations of flags and commands begin.
	helpColumn = 29
)

// asTemplate makes a template for the library of a text that is none.
func asTemplate(text string) string { return strings.ReplaceAll(text, "{{", "{{`{{`}}") }

// appHelp is the program's help.
func appHelp(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s COMMAND [ARGUMENT...] [FLAG...]\n\n%s.\n\n%s\n\nCommands:\n", app.Name, capital(app.Usage), app.Description)
	for _, c := range app.Commands {
		helpEntry(&b, c.Name, c.Usage)
	}
	b.WriteString("\nFlags:\n")
	helpEntry(&b, "--help, -h", "show this help, or a command's: "+app.Name+" COMMAND --help")
	helpEntry(&b, "--version, -v", "print the version")
	return b.String()
}

// commandHelp is a command's help.
func commandHelp(c *cli.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: tofu-oci %s %s\n\n%s.\n\n%s\n\nFlags:\n", c.Name, c.ArgsUsage, capital(c.Usage), c.Description)
	for _, flag := range c.Flags {
		if f, ok := flag.(cli.DocGenerationFlag); ok {
			helpEntry(&b, flagForm(f), flagUsage(f))
		}
	}
	helpEntry(&b, "--help, -h", "show this help")
	return b.String()
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
		text += " (default: " + strings.TrimSuffix(value, "m0s") + unitOf(value) + ")"
	}
	return text
}

// unitOf shortens Go's "1m0s" to "1m".
func unitOf(value string) string {
	if strings.HasSuffix(value, "m0s") {
		return "m"
	}
	return ""
}

// helpEntry writes a word and its explanation, in two columns.
func helpEntry(b *strings.Builder, word, explanation string) {
	line := fmt.Sprintf("  %-*s", helpColumn-2, word)
	for _, next := range strings.Fields(explanation) {
		if len(line)+1+len(next) > helpWidth {
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", helpColumn)
		}
		if len(line) > helpColumn || strings.TrimSpace(line) == word && len(line) >= helpColumn+1 {
			line += " "
		}
		line += next
	}
	b.WriteString(line + "\n")
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
