package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// interspersed moves flags in front of positional arguments: the library stops
// to look for flags at the first positional one, and our users write
// "tofu-oci mirror hashicorp/null --to X", or "tofu-oci --output json list …".
// Whoever asks for help gets it, whatever else stands there, and "help COMMAND"
// is "COMMAND --help"; so does who asks for the version before a command. What is
// mistyped is an error here, which names what may have been meant. Flags that are not
// there may come from variables of the environment: variables are those.
func interspersed(app *cli.App, args []string, getenv func(string) string) (ordered []string, variables map[string]written, err error) {
	call := call{commands: app.Commands}
	for i := 1; i < len(args); i++ {
		arg := args[i]
		switch {
		case call.version && !call.knows(arg):
		case !isFlag(arg) && !call.isNamed():
			err = call.name(arg)
		case arg == "--":
			call.rest = append(call.rest, args[i+1:]...)
			i = len(args)
		case !isFlag(arg) && call.command.Name == execName: // what follows a command is its own
			call.rest = args[i:]
			i = len(args)
		case !isFlag(arg):
			call.rest = append(call.rest, arg)
		default:
			i, err = call.flag(args, i)
		}
		if err != nil {
			return nil, nil, err
		}
		if call.help && call.isNamed() {
			break
		}
	}
	if call.isNamed() && !call.help {
		if err := call.repeated(); err != nil {
			return nil, nil, err
		}
		call.fromVariables(getenv)
		err = call.settle()
		if problem := call.problems(); problem != nil { // which may be all that is wrong
			err = problem
		}
		if err != nil {
			return nil, call.variables(), err
		}
	}
	ordered, err = call.ordered(args[:min(len(args), 1)])
	return ordered, call.variables(), err
}

// isFlag tells whether an argument is a flag, or ends them.
func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' }

// call is what was read of a command line.
type call struct {
	// commands are those that the next name may be of, and names those so far.
	commands []*cli.Command
	names    []string
	// command is the last that was named, nil before the first.
	command *cli.Command
	flags   []written
	rest    []string
	// help and version were asked for.
	help, version bool
}

// isNamed tells whether nothing is missing of the command's name.
func (c *call) isNamed() bool { return c.command != nil && len(c.commands) == 0 }

// name reads a command's name, or that of one of its commands.
func (c *call) name(arg string) error {
	if arg == "help" && len(c.names) == 0 {
		c.help = true
		return nil
	}
	for _, command := range c.commands {
		if command.HasName(arg) {
			c.command, c.commands, c.names = command, command.Subcommands, append(c.names, arg)
			return nil
		}
	}
	return unknownCommand(c.names, arg, c.commands)
}

// flag reads the flag at args[i], and gives the index of the last argument that
// belongs to it.
func (c *call) flag(args []string, i int) (int, error) {
	name, value, hasValue := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
	switch name {
	case "help", "h":
		c.help = true
		return i, nil
	case "version", "v":
		if c.command == nil {
			c.version = true
			return i, c.name(versionName)
		}
	}
	flags := c.find(name)
	if len(flags) == 0 {
		return i, c.unknownFlag(args[i], name)
	}
	flag := flags[0]
	if slices.ContainsFunc(flags, func(f cli.Flag) bool { return isSwitch(f) != isSwitch(flag) }) {
		return i, usagef("%s is not the same for all commands: write it behind the command", args[i])
	}
	w := written{name: flag.Names()[0], args: []string{args[i]}}
	if !isSwitch(flag) && !hasValue {
		if i++; i == len(args) {
			return i, usagef("%s is missing its value; see %s --help", args[i-1], c.program())
		}
		value, hasValue = args[i], true
		w.args = append(w.args, value)
	}
	if hasValue {
		w.values = []string{value}
	}
	w.off = isOff(flag, w.values)
	c.flags = append(c.flags, w)
	if problem := valueProblem(flag, value); hasValue && problem != "" {
		if isSwitch(flag) {
			return i, usagef("--%s=%s: %s; --%s alone is true", w.name, value, problem, w.name)
		}
		return i, usagef("--%s %s: %s", w.name, value, problem)
	}
	return i, nil
}

// knows tells whether an argument is a flag of the command, or asks for help.
func (c *call) knows(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return isFlag(arg) && (slices.Contains([]string{"help", "h"}, name) || flagNamed(c.command, name) != nil)
}

// find looks for a flag: of the command, or where that is not named yet, of all
// that it may become.
func (c *call) find(name string) []cli.Flag {
	if c.isNamed() {
		return flagsNamed([]*cli.Command{c.command}, name)
	}
	return flagsNamed(c.commands, name)
}

func isSwitch(flag cli.Flag) bool {
	_, is := flag.(*cli.BoolFlag)
	return is
}

// ordered gives the command line as the library reads it.
func (c *call) ordered(program []string) ([]string, error) {
	named := slices.Concat(program, c.names)
	switch {
	case c.help, c.command != nil && !c.isNamed():
		return append(named, "--help"), nil
	case c.command == nil && len(c.flags) > 0:
		return nil, usagef("name a command beside %s; see tofu-oci --help", c.flags[0].args[0])
	case c.command == nil:
		return named, nil
	}
	for _, w := range c.flags {
		if c.version && !c.knows(w.args[0]) {
			continue
		}
		if flagNamed(c.command, w.name) == nil {
			return nil, c.unknownFlag(w.args[0], w.name)
		}
		named = append(named, w.args...)
	}
	return slices.Concat(named, []string{"--"}, c.rest), nil
}

// program is the command as far as it is named.
func (c *call) program() string { return strings.Join(append([]string{"tofu-oci"}, c.names...), " ") }

// flagNamed finds a command's flag, nil when there is none of that name.
func flagNamed(command *cli.Command, name string) cli.Flag {
	for _, flag := range command.Flags {
		if slices.Contains(flag.Names(), name) {
			return flag
		}
	}
	return nil
}

// flagsNamed finds the flags of a name that the commands have, and theirs.
func flagsNamed(commands []*cli.Command, name string) []cli.Flag {
	var found []cli.Flag
	for _, command := range commands {
		if flag := flagNamed(command, name); flag != nil {
			found = append(found, flag)
		}
		found = append(found, flagsNamed(command.Subcommands, name)...)
	}
	return found
}
