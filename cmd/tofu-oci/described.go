package main

import (
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// words are the values of flags that take one of a few. A command has those of them
// that its own explanation of the flag names.
var words = map[string][]string{
	"check":      {string(publish.CheckTags), string(publish.CheckIndex), string(publish.CheckManifests), string(publish.CheckBlobs), string(publish.CheckDeep)},
	"layout":     {string(pull.LayoutZip), string(pull.LayoutPacked), string(pull.LayoutUnpacked), string(pull.LayoutNetwork)},
	"output":     {report.Text, report.JSON, report.SARIF, report.GitHub},
	"signatures": {string(trust.ModeRequire), string(trust.ModeWarn), string(trust.ModeOff)},
}

// usualPlatforms are offered where one is meant: those that most providers are built for.
// Others may be typed.
var usualPlatforms = []string{
	"darwin_amd64", "darwin_arm64", "freebsd_386", "freebsd_amd64", "freebsd_arm", "linux_386", "linux_amd64", "linux_arm",
	"linux_arm64", "windows_386", "windows_amd64", "windows_arm64",
}

// described is the program's command line as data.
func described(app *cli.App) commandline.Program {
	help := commandline.Flag{Names: []string{"help", "h"}, About: "show this help"}
	helpOf := commandline.Flag{Names: help.Names, About: "show this help; after a command, that command's"}
	p := commandline.Program{
		Name: app.Name, About: app.Usage, Text: app.Description, Date: buildDate(),
		Flags: []commandline.Flag{helpOf, {Names: []string{"version", "v"}, About: "print the version; the same as the command"}},
	}
	var add func(parent []string, commands []*cli.Command)
	add = func(parent []string, commands []*cli.Command) {
		for _, c := range commands {
			d := commandline.Command{Words: append(slices.Clone(parent), c.Name), About: c.Usage, Usage: c.ArgsUsage, Text: c.Description, Arguments: arguments(c)}
			if readsConfiguration(c) {
				text, examples, _ := strings.Cut(d.Text, "Examples:\n")
				d.Text = strings.TrimSpace(text) + "\n\n" + reads + "Examples:\n" + examples
			}
			for _, flag := range c.Flags {
				if f, ok := flag.(cli.DocGenerationFlag); ok {
					d.Flags = append(d.Flags, describedFlag(c, f))
				}
			}
			d.Flags = append(d.Flags, help)
			p.Commands = append(p.Commands, d)
			add(d.Words, c.Subcommands)
		}
	}
	add(nil, app.Commands)
	return p
}

func describedFlag(c *cli.Command, f cli.DocGenerationFlag) commandline.Flag {
	d := commandline.Flag{Names: f.Names(), About: flagUsage(f)}
	if name := variableOf(c, f); name != "" {
		d.Environment = []string{name}
	}
	_, d.Repeatable = f.(*cli.StringSliceFlag)
	if parts := strings.Split(f.GetUsage(), "`"); len(parts) == 3 {
		d.Word = parts[1]
	}
	switch d.Word {
	case "FILE":
		d.Values.Kind = commandline.Files
	case "DIR", "DIRECTORY":
		d.Values.Kind = commandline.Directories
	case "OS_ARCH", "PLATFORM":
		d.Values = commandline.Values{Kind: commandline.OneOf, Words: usualPlatforms}
	case "LEVEL", "LAYOUT", "FORMAT", "MODE":
		d.Values = commandline.Values{Kind: commandline.OneOf, Words: wordsOfFlag(f)}
	}
	return d
}

// wordsOfFlag are those of the words that a command's flag takes.
func wordsOfFlag(f cli.Flag) []string {
	documented, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return nil
	}
	there := strings.FieldsFunc(documented.GetUsage(), func(r rune) bool { return strings.ContainsRune(" ,;:", r) })
	return slices.DeleteFunc(slices.Clone(words[f.Names()[0]]), func(word string) bool { return !slices.Contains(there, word) })
}

// arguments are what a command takes that is no flag, by the first word of its usage.
func arguments(c *cli.Command) commandline.Values {
	word, _, _ := strings.Cut(strings.TrimLeft(c.ArgsUsage, "["), " ")
	switch {
	case c.Name == execName:
		return commandline.Values{Kind: commandline.Programs}
	case c.Name == completionName:
		return commandline.Values{Kind: commandline.OneOf, Words: shellNames()}
	case strings.Contains(word, "|"):
		return commandline.Values{Kind: commandline.OneOf, Words: strings.Split(word, "|")}
	case strings.HasPrefix(word, "PATH"):
		return commandline.Values{Kind: commandline.Files}
	case word == "" || strings.HasPrefix(word, "FLAG") || strings.HasPrefix(word, "--"):
		return commandline.Values{Kind: commandline.Nothing}
	}
	return commandline.Values{Kind: commandline.Free}
}

// buildDate is when what was built was committed, zero where the build does not tell.
func buildDate() time.Time {
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return time.Time{}
	}
	return at
}
