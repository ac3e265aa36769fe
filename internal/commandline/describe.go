package commandline

import (
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// words are the values of flags that take one of a few. A command has those of them
// that its own explanation of the flag names.
var words = map[string][]string{
	"check-level": {"tags", "index", "manifests", "blobs", "deep"},
	"layout":      {"zip", "packed", "unpacked", "network"},
	"output":      {"text", "json", "sarif", "github"},
	"signatures":  {"require", "warn", "off"},
}

// usualPlatforms are offered where one is meant: those that most providers are built for.
// Others may be typed.
var usualPlatforms = []string{
	"darwin_amd64", "darwin_arm64", "freebsd_386", "freebsd_amd64", "freebsd_arm", "linux_386", "linux_amd64", "linux_arm",
	"linux_arm64", "windows_386", "windows_amd64", "windows_arm64",
}

// Prepare sets the names of all commands in texts, their help, and errors instead of
// the help that the library prints for them. Before that it calls leaf for each command
// that has no commands.
func Prepare(app *cli.App, leaf func(*cli.Command)) {
	app.HideHelpCommand, app.OnUsageError = true, usageError
	prepare("", app.Commands, leaf)
	p := Describe(app, time.Time{})
	app.CustomAppHelpTemplate = asTemplate(p.help())
	setHelp(p, app.Commands)
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

func setHelp(p Program, commands []*cli.Command) {
	for _, command := range commands {
		for _, c := range p.Commands {
			if c.Name() == command.HelpName {
				command.CustomHelpTemplate = asTemplate(p.commandHelp(c))
			}
		}
		setHelp(p, command.Subcommands)
	}
}

// asTemplate makes a template for the library of a text that is none.
func asTemplate(text string) string { return strings.ReplaceAll(text, "{{", "{{`{{`}}") }

// usageError replaces the library's habit of printing the whole help.
func usageError(c *cli.Context, err error, _ bool) error {
	name := "tofu-oci"
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != name {
		name += " " + nameOf(c.Command)
	}
	return usagef("%w; see %s --help", err, name)
}

// Describe returns the program's command line as data; date is when the program was
// built.
func Describe(app *cli.App, date time.Time) Program {
	help := Flag{Names: []string{"help", "h"}, About: "show this help; after a command, that command's"}
	return Program{
		Name: app.Name, About: app.Usage, Text: app.Description, Date: date,
		Flags:    []Flag{help, {Names: []string{"version", "v"}, About: "print the version; the same as the command"}},
		Commands: describeCommands(nil, app.Commands),
	}
}

func describeCommands(parent []string, commands []*cli.Command) (described []Command) {
	for _, c := range commands {
		d := Command{Words: append(slices.Clone(parent), c.Name), About: c.Usage, Usage: c.ArgsUsage, Text: c.Description, Arguments: arguments(c)}
		if FlagNamed(c, "config") != nil {
			d.Reads = reads
		}
		for _, flag := range c.Flags {
			d.Flags = append(d.Flags, describeFlag(c, flag.(cli.DocGenerationFlag)))
		}
		d.Flags = append(d.Flags, Flag{Names: []string{"help", "h"}, About: "show this help"})
		described = append(described, d)
		described = append(described, describeCommands(d.Words, c.Subcommands)...)
	}
	return described
}

func describeFlag(c *cli.Command, f cli.DocGenerationFlag) Flag {
	d := Flag{Names: f.Names(), About: strings.ReplaceAll(f.GetUsage(), "`", "")}
	switch value := f.GetValue(); value {
	case "", "0", "false", "[]":
	default:
		d.About += " (default: " + strings.Replace(value, "m0s", "m", 1) + ")"
	}
	if name := VariableOf(c, f); name != "" {
		d.Environment = []string{name}
	}
	_, d.Repeatable = f.(*cli.StringSliceFlag)
	if parts := strings.Split(f.GetUsage(), "`"); len(parts) == 3 {
		d.Word = parts[1]
	}
	switch d.Word {
	case "FILE":
		d.Values.Kind = Files
	case "DIR", "DIRECTORY":
		d.Values.Kind = Directories
	case "OS_ARCH", "PLATFORM":
		d.Values = Values{Kind: OneOf, Words: usualPlatforms}
	case "LEVEL", "LAYOUT", "FORMAT", "MODE":
		d.Values = Values{Kind: OneOf, Words: WordsOf(f)}
	}
	return d
}

// WordsOf are those of the words that a command's flag takes.
func WordsOf(f cli.Flag) []string {
	documented, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return nil
	}
	there := strings.FieldsFunc(documented.GetUsage(), func(r rune) bool { return strings.ContainsRune(" ,;:", r) })
	return slices.DeleteFunc(slices.Clone(words[f.Names()[0]]), func(word string) bool { return !slices.Contains(there, word) })
}

// arguments are what a command takes that is no flag, by the first word of its usage.
func arguments(c *cli.Command) Values {
	word, _, _ := strings.Cut(strings.TrimLeft(c.ArgsUsage, "["), " ")
	switch {
	case c.Name == Exec:
		return Values{Kind: Programs}
	case strings.Contains(word, "|"):
		return Values{Kind: OneOf, Words: strings.Split(word, "|")}
	case strings.HasPrefix(word, "PATH"):
		return Values{Kind: Files}
	case word == "" || strings.HasPrefix(word, "FLAG") || strings.HasPrefix(word, "--"):
		return Values{Kind: Nothing}
	}
	return Values{Kind: Free}
}
