package commandline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Names of commands whose command lines are read in their own way.
const (
	Exec    = "exec"    // what follows its command belongs to that
	Login   = "login"   // takes no password
	Version = "version" // is also --version
)

// Read returns a command line as the library reads it, which wants flags in front of
// arguments, whereas users write "tofu-oci mirror hashicorp/null --to X", or
// "tofu-oci --output json list …". Whoever asks for help gets it, whatever else is there,
// and "help COMMAND" is "COMMAND --help"; --version before a command works the same way.
// An error says what may have been meant. Flags that are not there may come from
// variables of the environment: variables maps those flags to the variables.
func Read(app *cli.App, args []string, getenv func(string) string) (ordered []string, variables map[string]string, err error) {
	call := call{commands: app.Commands}
	for i := 1; i < len(args) && (!call.help || !call.isNamed()); i++ {
		arg := args[i]
		switch {
		case call.version && !call.knows(arg):
		case !isFlag(arg) && !call.isNamed():
			err = call.name(arg)
		case arg == "--":
			call.rest = append(call.rest, args[i+1:]...)
			i = len(args)
		case !isFlag(arg) && call.command.Name == Exec:
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

// AsksJSON reports whether a command line asks for JSON, however wrong the rest of it is:
// by its last --output, or else the variable of that.
func AsksJSON(app *cli.App, args []string, getenv func(string) string) bool {
	const asked = "json"
	format, command := "", (*cli.Command)(nil)
	for i := 1; i < len(args) && args[i] != "--"; i++ {
		name, value, hasValue := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		switch {
		case !isFlag(args[i]) && command == nil:
			command = app.Command(args[i])
		case !isFlag(args[i]) || name != "output" && name != "o":
		case hasValue:
			format = value
		case i+1 < len(args):
			format = args[i+1]
		}
	}
	if command == nil {
		return format == asked
	}
	flag := FlagNamed(command, "output")
	return flag != nil && (format == asked || format == "" && getenv(VariableOf(command, flag)) == asked)
}

// isFlag reports whether an argument is a flag, or ends them.
func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' }

// call is what was read of a command line.
type call struct {
	// commands are those that the next name may be of, and names those so far.
	commands []*cli.Command
	names    []string
	// command is the last that was named, nil before the first.
	command *cli.Command
	flags   []given
	rest    []string
	// help and version were asked for.
	help, version bool
}

// given is a flag in the command line, or set by a variable.
type given struct {
	name   string
	args   []string
	values []string
	// off reports that it is a switch that is false, or an empty value, as if it were not
	// there.
	off bool
	// variable is the variable that sets it, "" for the command line.
	variable string
}

// isNamed reports whether the command's name is complete.
func (c *call) isNamed() bool { return c.command != nil && len(c.commands) == 0 }

// name reads a command's name, or the name of one of its commands.
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

// flag reads the flag at args[i], and returns the index of the last argument that belongs
// to it.
func (c *call) flag(args []string, i int) (int, error) {
	name, value, hasValue := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
	switch name {
	case "help", "h":
		c.help = true
		return i, nil
	case Version, "v":
		if c.command == nil {
			c.version = true
			return i, c.name(Version)
		}
	}
	flags := c.find(name)
	if len(flags) == 0 {
		return i, c.unknownFlag(args[i], name)
	}
	flag := flags[0]
	g := given{name: flag.Names()[0], args: []string{args[i]}}
	if !isSwitch(flag) && !hasValue {
		if i++; i == len(args) {
			return i, usagef("%s is missing its value; see %s --help", args[i-1], c.program())
		}
		value, hasValue = args[i], true
		g.args = append(g.args, value)
	}
	if hasValue {
		g.values = []string{value}
	}
	g.off = isOff(flag, g.values)
	c.flags = append(c.flags, g)
	if problem := valueProblem(flag, value); hasValue && problem != "" {
		if isSwitch(flag) {
			return i, usagef("--%s=%s: %s; --%s alone is true", g.name, value, problem, g.name)
		}
		return i, usagef("--%s %s: %s", g.name, value, problem)
	}
	return i, nil
}

// knows reports whether an argument is a flag of the command, or asks for help.
func (c *call) knows(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return isFlag(arg) && (name == "help" || name == "h" || FlagNamed(c.command, name) != nil)
}

// find returns the flags of a name: of the command, or, if that is not named yet, of all
// commands that it may become.
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

// isOff reports whether values leave a flag as it is without them.
func isOff(flag cli.Flag, values []string) bool {
	if !isSwitch(flag) {
		return !slices.ContainsFunc(values, func(value string) bool { return value != "" })
	}
	on, err := strconv.ParseBool(strings.Join(values, ""))
	return len(values) > 0 && err == nil && !on
}

// repeated refuses a flag that takes one value and is given twice, because the library would
// ignore the first value. A Boolean flag can be repeated with the same value.
func (c *call) repeated() error {
	for i, g := range c.flags {
		flag := FlagNamed(c.command, g.name)
		if _, repeatable := flag.(*cli.StringSliceFlag); flag == nil || repeatable {
			continue
		}
		before := slices.IndexFunc(c.flags[:i], func(other given) bool { return other.name == g.name })
		switch {
		case before >= 0 && !isSwitch(flag):
			return usagef("--%s is given twice, but takes one value; see %s --help", g.name, c.program())
		case before >= 0 && c.flags[before].off != g.off:
			return usagef("--%s is given as true and as false", g.name)
		}
	}
	return nil
}

// ordered returns the command line as the library reads it.
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
	for _, g := range c.flags {
		if c.version && !c.knows(g.args[0]) {
			continue
		}
		if FlagNamed(c.command, g.name) == nil {
			return nil, c.unknownFlag(g.args[0], g.name)
		}
		named = append(named, g.args...)
	}
	return slices.Concat(named, []string{"--"}, c.rest), nil
}

// program is the command as far as it is named.
func (c *call) program() string { return strings.Join(append([]string{"tofu-oci"}, c.names...), " ") }

// FlagNamed returns a command's flag, or nil.
func FlagNamed(command *cli.Command, name string) cli.Flag {
	for _, flag := range command.Flags {
		if slices.Contains(flag.Names(), name) {
			return flag
		}
	}
	return nil
}

// flagsNamed returns the flags of a name that the commands, and their commands, have.
func flagsNamed(commands []*cli.Command, name string) []cli.Flag {
	var found []cli.Flag
	for _, command := range commands {
		if flag := FlagNamed(command, name); flag != nil {
			found = append(found, flag)
		}
		found = append(found, flagsNamed(command.Subcommands, name)...)
	}
	return found
}

func usagef(format string, args ...any) error {
	return provider.Errorf(provider.Misuse, format, args...)
}
