package commandline

import (
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// choices maps flags to their possible values in all commands. In a command, a flag
// accepts only the values that its usage text lists.
var choices = map[string][]string{
	"attestations": {"fetch", "require"},
	"check-level":  {"tags", "index", "manifests", "blobs", "deep"},
	"color":        {"auto", "always", "never"},
	"h1":           {"auto", "skip", "verify"},
	"lockfile":     {"readonly"},
	"layout":       {"zip", "packed", "unpacked", "network"},
	"output":       {"text", "json", "markdown", "sarif", "github"},
	"signatures":   {"require", "warn", "off"},
}

// commonPlatforms contains the platforms that completions suggest, because most
// providers support them. Other platforms are also accepted.
var commonPlatforms = []string{
	"darwin_amd64", "darwin_arm64", "freebsd_386", "freebsd_amd64", "freebsd_arm", "linux_386", "linux_amd64", "linux_arm",
	"linux_arm64", "windows_386", "windows_amd64", "windows_arm64",
}

// Prepare sets the full names of all commands and shortens their usage errors. It calls
// leaf for each command without subcommands. [Read] sets the help texts if they are
// needed.
func Prepare(app *cli.App, leaf func(*cli.Command)) {
	app.HideHelpCommand, app.OnUsageError = true, usageError
	prepare("", app.Commands, leaf)
}

func prepare(parent string, commands []*cli.Command, leaf func(*cli.Command)) {
	for _, command := range commands {
		command.HelpName = parent + command.Name
		command.HideHelpCommand, command.OnUsageError = true, usageError
		if len(command.Subcommands) == 0 {
			leaf(command)
		}
		prepare(command.HelpName+" ", command.Subcommands, leaf)
	}
}

// setHelpTexts sets the help texts, wrapped to the width of the app's output. If flagsHelp
// is true, the app's help text describes the common flags.
func setHelpTexts(app *cli.App, flagsHelp bool) {
	p, width := Describe(app, time.Time{}), terminalWidth(app.Writer)
	app.CustomAppHelpTemplate = escapeTemplate(p.help(width))
	if flagsHelp {
		app.CustomAppHelpTemplate = escapeTemplate(p.flagsHelp(width))
	}
	setHelp(p, width, app.Commands)
}

func setHelp(p Program, width int, commands []*cli.Command) {
	for _, command := range commands {
		for _, c := range p.Commands {
			if c.Name() == command.HelpName {
				command.CustomHelpTemplate = escapeTemplate(p.commandHelp(c, width))
			}
		}
		setHelp(p, width, command.Subcommands)
	}
}

// escapeTemplate returns a text/template that prints the given text.
func escapeTemplate(text string) string { return strings.ReplaceAll(text, "{{", "{{`{{`}}") }

// usageError replaces urfave/cli's default handler, which prints the complete help.
func usageError(c *cli.Context, err error, _ bool) error {
	name := "tofu-oci"
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != name {
		name += " " + nameOf(c.Command)
	}
	return usagef("%w; see %s --help", err, name)
}

// Describe returns the program's commands and flags as data. date is the build's commit
// date.
func Describe(app *cli.App, date time.Time) Program {
	return Program{
		Name: app.Name, Summary: app.Usage, Text: app.Description, FlagsText: app.UsageText, Date: date,
		Flags: []Flag{
			{Names: []string{"help", "h"}, Description: "show this help; after a command, the command's help"},
			{Names: []string{"version", "v"}, Description: "print the version"},
		},
		Commands: describeCommands(nil, app.Commands),
	}
}

func describeCommands(parent []string, commands []*cli.Command) (described []Command) {
	for _, c := range commands {
		d := Command{Path: append(slices.Clone(parent), c.Name), Group: c.Category, Summary: c.Usage, Usage: c.ArgsUsage, Text: c.Description, Arguments: arguments(c)}
		for _, flag := range c.Flags {
			d.Flags = append(d.Flags, describeFlag(c, flag.(cli.DocGenerationFlag)))
		}
		d.Flags = append(d.Flags, Flag{Names: []string{"help", "h"}, Description: "show this help", Group: GroupOutput})
		described = append(described, d)
		described = append(described, describeCommands(d.Path, c.Subcommands)...)
	}
	return described
}

func describeFlag(c *cli.Command, f cli.DocGenerationFlag) Flag {
	d := Flag{Names: f.Names(), Description: strings.ReplaceAll(f.GetUsage(), "`", ""), Variable: VariableOf(c, f)}
	switch value := f.GetValue(); value {
	case "", "0", "false", "[]":
	default:
		d.Description += " (default: " + strings.Replace(value, "m0s", "m", 1) + ")"
	}
	if categorized, ok := f.(cli.CategorizableFlag); ok {
		d.Group = categorized.GetCategory()
	}
	_, d.Repeatable = f.(*cli.StringSliceFlag)
	if parts := strings.Split(f.GetUsage(), "`"); len(parts) == 3 {
		d.Placeholder = parts[1]
		d.Description = strings.TrimPrefix(d.Description, d.Placeholder+": ")
	}
	switch d.Placeholder {
	case "FILE":
		d.Values.Kind = Files
	case "DIR", "DIRECTORY":
		d.Values.Kind = Directories
	case "OS_ARCH", "PLATFORM":
		d.Values = Values{Kind: OneOf, Choices: commonPlatforms}
	case "KIND", "LEVEL", "LAYOUT", "FORMAT", "MODE", "WHEN":
		d.Values = Values{Kind: OneOf, Choices: ChoicesOf(f)}
	}
	return d
}

// ChoicesOf returns the possible values of a command's flag. If any value is accepted,
// it returns nil.
func ChoicesOf(f cli.Flag) []string {
	documented, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return nil
	}
	words := strings.FieldsFunc(documented.GetUsage(), func(r rune) bool { return strings.ContainsRune(" ,;:", r) })
	return slices.DeleteFunc(slices.Clone(choices[f.Names()[0]]), func(choice string) bool { return !slices.Contains(words, choice) })
}

// arguments derives the values of a command's arguments from the first word of its
// synopsis.
func arguments(c *cli.Command) Values {
	word, _, _ := strings.Cut(strings.TrimLeft(c.ArgsUsage, "["), " ")
	switch {
	case c.Name == Exec:
		return Values{Kind: Programs}
	case strings.Contains(word, "|"):
		return Values{Kind: OneOf, Choices: strings.Split(word, "|")}
	case strings.HasPrefix(word, "PATH"), strings.HasPrefix(word, "FILE"), strings.HasPrefix(word, "DECLARATION"):
		return Values{Kind: Files}
	case strings.HasPrefix(word, "PROVIDER"), strings.HasPrefix(word, "MODULE"):
		return Values{Kind: Providers}
	case word == "DIR":
		return Values{Kind: Directories}
	case word == "" || strings.HasPrefix(word, "FLAG") || strings.HasPrefix(word, "--"):
		return Values{Kind: Nothing}
	}
	return Values{Kind: Free}
}
