package commandline

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// unknownCommand returns the error for an unknown command or subcommand.
func unknownCommand(parents []string, name string, commands []*cli.Command) error {
	var names []string
	for _, command := range commands {
		names = append(names, command.Name)
	}
	program := strings.Join(append([]string{"tofu-oci"}, parents...), " ")
	suggestion, found := text.Nearest(name, names)
	unknown := strings.Join(append(parents, name), " ")
	switch {
	case found:
		return usagef("unknown command %q; did you mean %s %s?", unknown, program, suggestion)
	case len(parents) == 0:
		return usagef("unknown command %q; see tofu-oci --help", unknown)
	}
	return usagef("unknown command %q: want %s; see %s --help", unknown, strings.Join(names, " or "), program)
}

// unknownFlag returns the error for an unknown flag.
func (c *commandLine) unknownFlag(arg, name string) error {
	commands := c.commands
	command := ""
	if c.command != nil {
		commands = []*cli.Command{c.command}
		command = strings.Join(c.names, " ") + ": "
	}
	if c.command != nil && c.command.Name == Login && (name == "password" || strings.HasPrefix(arg, "-p")) {
		// The rest of the argument can be the password, as in -pSECRET.
		return usagef("login does not accept a password on the command line, because other users can see the arguments; pipe the password to --password-stdin, or enter it when prompted")
	}
	arg, _, _ = strings.Cut(arg, "=")
	if arg == "-encodedCommand" {
		return usagef("PowerShell interpreted the braces in a template as a script block; enclose the template in quotes, such as 'ghcr.io/acme/{namespace}/{type}'")
	}
	if suggestion, found := text.Nearest(name, flagNames(commands)); found {
		return usagef("%sunknown flag %s; did you mean --%s?", command, arg, suggestion)
	}
	return usagef("%sunknown flag %s; see %s --help", command, arg, c.program())
}

func flagNames(commands []*cli.Command) []string {
	var names []string
	for _, command := range commands {
		for _, flag := range command.Flags {
			names = append(names, flag.Names()[0])
		}
		names = append(names, flagNames(command.Subcommands)...)
	}
	return names
}

// checkValue parses a flag's value like urfave/cli, whose error messages expose
// implementation details. It returns a description of the problem, or "" if the value
// is valid.
func checkValue(flag cli.Flag, value string) string {
	if words := ChoicesOf(flag); value != "" && len(words) > 0 && !slices.Contains(words, value) {
		return "want " + text.List(words, "or")
	}
	switch flag.(type) {
	case *cli.IntFlag:
		if _, err := strconv.ParseInt(value, 0, 0); err != nil {
			return "want an integer, such as 4"
		}
	case *cli.Float64Flag:
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return "want a number, such as 2.5"
		}
	case *cli.BoolFlag:
		if _, err := strconv.ParseBool(value); err != nil {
			return "want true or false"
		}
	case *cli.DurationFlag:
		if _, err := time.ParseDuration(value); err != nil {
			return "want a duration, such as 30s or 2m"
		}
	}
	return ""
}
