package main

import (
	"embed"
	"strings"

	"github.com/urfave/cli/v2"
)

// docs is the URL of the documentation.
const docs = "https://github.com/tofu-oci/tofu-oci/blob/main/docs/"

// helpTexts contains one file for the program and one for each command. The first line
// is the summary, and the second line is the synopsis of arguments and flags. The
// description follows after an empty line. In the description, "Details:" precedes the
// name of a page in docs.
//
//go:embed help/*.txt
var helpTexts embed.FS

// helpOf returns the help text of a command, such as "cache prune", or of the program.
func helpOf(name string) (summary, synopsis, description string) {
	text, _ := helpTexts.ReadFile("help/" + strings.ReplaceAll(name, " ", "-") + ".txt") // tests read all files
	summary, rest, _ := strings.Cut(string(text), "\n")
	synopsis, description, _ = strings.Cut(rest, "\n")
	return summary, synopsis, strings.TrimSpace(strings.Replace(description, "Details: ", "Details: "+docs, 1))
}

// addHelp sets the help texts of commands and their subcommands.
func addHelp(parent string, commands []*cli.Command) {
	for _, c := range commands {
		c.Usage, c.ArgsUsage, c.Description = helpOf(parent + c.Name)
		addHelp(parent+c.Name+" ", c.Subcommands)
	}
}
