package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// interspersed moves flags in front of positional arguments: the library stops
// to look for flags at the first positional one, and our users write
// "tofu-oci mirror hashicorp/null --to X". Whoever asks for help gets it,
// whatever else stands there, and "help COMMAND" is "COMMAND --help".
func interspersed(app *cli.App, args []string) ([]string, error) {
	if len(args) < 2 {
		return args, nil
	}
	if slices.Contains([]string{"help", "--help", "-h"}, args[1]) {
		return append(slices.Clone(args[:1]), append(slices.Clone(args[2:]), "--help")...), nil
	}
	command := app.Command(args[1])
	if command == nil {
		return args, nil
	}
	named := 2 // so many arguments are the program and its command
	if len(args) > named && command.Command(args[named]) != nil {
		command = command.Command(args[named])
		named++
	}
	if len(command.Subcommands) > 0 && len(args) == named {
		return append(slices.Clone(args), "--help"), nil
	}
	name := strings.Join(args[1:named], " ")
	flags, rest := []string{}, []string{}
	for i := named; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			rest = append(rest, args[i+1:]...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			if command.Name == execName { // what follows a command is its own
				rest = args[i:]
				break
			}
			rest = append(rest, arg)
			continue
		}
		flagName, _, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if flagName == "help" || flagName == "h" {
			return append(slices.Clone(args[:named]), "--help"), nil
		}
		flag := flagNamed(command, flagName)
		if flag == nil {
			return nil, usagef("%s has no flag %s; see tofu-oci %s --help", name, arg, name)
		}
		flags = append(flags, arg)
		if _, isSwitch := flag.(*cli.BoolFlag); isSwitch || hasValue {
			continue
		}
		if i++; i == len(args) {
			return nil, usagef("%s is missing its value; see tofu-oci %s --help", arg, name)
		}
		flags = append(flags, args[i])
	}
	return slices.Concat(args[:named], flags, []string{"--"}, rest), nil
}

// flagNamed finds a command's flag, nil when there is none of that name.
func flagNamed(command *cli.Command, name string) cli.Flag {
	for _, flag := range command.Flags {
		if slices.Contains(flag.Names(), name) {
			return flag
		}
	}
	return nil
}
