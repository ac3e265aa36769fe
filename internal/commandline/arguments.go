package commandline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// These commands require special parsing.
const (
	Exec    = "exec"    // its arguments are a second command line
	Login   = "login"   // rejects passwords
	Version = "version" // also available as --version
)

// Read parses a command line and returns it in the order that urfave/cli expects, with
// flags before arguments. Users can write flags anywhere, as in "tofu-oci mirror
// hashicorp/null --to X" or "tofu-oci --output json list …". A request for help takes
// precedence over everything else. "help COMMAND" is equivalent to "COMMAND --help", and
// "help flags" describes the flags that most commands have in common. --version before a
// command is equivalent to the version command. Errors suggest corrections.
//
// Environment variables can set flags that are not on the command line. The returned
// map maps the names of these flags to the names of the variables.
func Read(app *cli.App, args []string, getenv func(string) string) (ordered []string, variables map[string]string, err error) {
	c := commandLine{commands: app.Commands}
	for i := 1; i < len(args) && (!c.help || !c.isNamed()); i++ {
		arg := args[i]
		switch {
		case c.version && !c.hasFlag(arg):
		case !isFlag(arg) && !c.isNamed():
			err = c.name(arg)
		case arg == "--":
			c.rest = append(c.rest, args[i+1:]...)
			i = len(args)
		case !isFlag(arg) && c.command.Name == Exec:
			c.rest = args[i:]
			i = len(args)
		case !isFlag(arg):
			c.rest = append(c.rest, arg)
		default:
			i, err = c.flag(args, i)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if c.isNamed() && !c.help {
		if err := c.checkRepeated(); err != nil {
			return nil, nil, err
		}
		c.addVariables(getenv)
		err = c.applyRules()
		if invalid := c.checkVariables(); invalid != nil { // an invalid value can cause the violation
			err = invalid
		}
		if err == nil {
			err = c.checkArguments()
		}
		if err != nil {
			return nil, c.variables(), err
		}
	}
	if c.help || !c.isNamed() && !c.version {
		setHelpTexts(app, c.flagsHelp)
	}
	ordered, err = c.ordered(args[:min(len(args), 1)])
	return ordered, c.variables(), err
}

// FlagValue returns the value of a flag even if the command line is otherwise invalid.
// It returns the last value on the command line or, if there is none, the value of the
// environment variable. If the command doesn't have the flag, FlagValue returns "".
func FlagValue(app *cli.App, args []string, getenv func(string) string, name string) (value string) {
	c := commandLine{commands: app.Commands}
	for i := 1; i < len(args) && args[i] != "--"; i++ {
		if !isFlag(args[i]) {
			if c.isNamed() && c.command.Name == Exec { // the rest is another command line
				break
			}
			if !c.isNamed() {
				_ = c.name(args[i]) // if the command is unknown, the next argument can be one
			}
			continue
		}
		given, text, hasValue := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		flags := c.find(given)
		if len(flags) > 0 && !isBoolean(flags[0]) && !hasValue && i+1 < len(args) {
			i++
			text = args[i]
		}
		if len(flags) > 0 && flags[0].Names()[0] == name {
			value = text
		}
	}
	variable := variableFor(name)
	if c.command != nil {
		flag := FlagNamed(c.command, name)
		if flag == nil {
			return ""
		}
		variable = VariableOf(c.command, flag)
	}
	return cmp.Or(value, getenv(variable))
}

// isFlag reports whether an argument is a flag, or the "--" after the flags.
func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' }

// commandLine is a partially parsed command line.
type commandLine struct {
	// commands contains the candidates for the next command name.
	commands []*cli.Command
	// names contains the command names so far, such as "cache" and "prune".
	names []string
	// command is the last parsed command. It is nil before the first command.
	command *cli.Command
	flags   []setFlag
	rest    []string
	// help and version report whether help or the version is requested.
	help, version bool
	// flagsHelp reports whether the help for the common flags is requested.
	flagsHelp bool
}

// setFlag is a flag that the command line or an environment variable sets.
type setFlag struct {
	name string
	// args contains the arguments that set the flag.
	args   []string
	values []string
	// isUnset reports whether the value has the same effect as omitting the flag. This
	// applies to an empty value and to the value false of a Boolean flag.
	isUnset bool
	// variable is the environment variable that sets the flag. It is empty if the
	// command line sets the flag.
	variable string
	// ruled is the value that a [FlagRule] restricts. It is empty if the rule applies
	// to all values.
	ruled string
}

// isNamed reports whether the command's name is complete.
func (c *commandLine) isNamed() bool { return c.command != nil && len(c.commands) == 0 }

// name parses the name of a command or subcommand.
func (c *commandLine) name(arg string) error {
	if arg == "help" && len(c.names) == 0 {
		c.help = true
		return nil
	}
	if arg == "flags" && c.help && len(c.names) == 0 {
		c.flagsHelp = true
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

// flag parses the flag at args[i] and returns the index of its last argument.
func (c *commandLine) flag(args []string, i int) (int, error) {
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
	flag := flags[0] // flags with the same name have the same type in all commands
	f := setFlag{name: flag.Names()[0], args: []string{args[i]}}
	if !isBoolean(flag) && !hasValue {
		if i++; i == len(args) {
			return i, usagef("%s requires a value; see %s --help", args[i-1], c.program())
		}
		value, hasValue = args[i], true
		f.args = append(f.args, value)
	}
	if hasValue {
		f.values = []string{value}
	}
	f.isUnset = isUnset(flag, f.values)
	c.flags = append(c.flags, f)
	if problem := checkValue(flag, value); hasValue && problem != "" {
		return i, usagef("invalid --%s %q: %s", f.name, value, problem)
	}
	return i, nil
}

// hasFlag reports whether an argument is a flag of the command or requests help.
func (c *commandLine) hasFlag(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return isFlag(arg) && (name == "help" || name == "h" || FlagNamed(c.command, name) != nil)
}

// find returns the flags with the given name. If the command's name is complete, find
// returns only the command's flag. Otherwise, it returns the flags of all candidates.
func (c *commandLine) find(name string) []cli.Flag {
	if c.isNamed() {
		return flagsNamed([]*cli.Command{c.command}, name)
	}
	return flagsNamed(c.commands, name)
}

func isBoolean(flag cli.Flag) bool {
	_, is := flag.(*cli.BoolFlag)
	return is
}

// isUnset reports whether setting a flag to values has the same effect as omitting it.
func isUnset(flag cli.Flag, values []string) bool {
	if !isBoolean(flag) {
		return !slices.ContainsFunc(values, func(value string) bool { return value != "" })
	}
	on, err := strconv.ParseBool(strings.Join(values, ""))
	return len(values) > 0 && err == nil && !on
}

// checkRepeated rejects repeated flags that have a single value, because urfave/cli
// would ignore all values except the last. A Boolean flag can be repeated with the same
// value.
func (c *commandLine) checkRepeated() error {
	for i, f := range c.flags {
		flag := FlagNamed(c.command, f.name)
		if _, repeatable := flag.(*cli.StringSliceFlag); flag == nil || repeatable {
			continue
		}
		before := slices.IndexFunc(c.flags[:i], func(other setFlag) bool { return other.name == f.name })
		switch {
		case before >= 0 && !isBoolean(flag):
			return usagef("--%s cannot be repeated; see %s --help", f.name, c.program())
		case before >= 0 && c.flags[before].isUnset != f.isUnset:
			return usagef("--%s cannot be both true and false", f.name)
		}
	}
	return nil
}

// checkArguments returns an error if the command line has more arguments than the
// command's synopsis allows. Commands count PROVIDERs themselves after parsing them, so
// that errors suggest corrections.
func (c *commandLine) checkArguments() error {
	words, kind := strings.Fields(c.command.ArgsUsage), arguments(c.command).Kind
	isList := slices.ContainsFunc(words[:min(len(words), 2)], func(word string) bool {
		return strings.HasSuffix(strings.TrimRight(word, "]"), "...") && word != "[FLAG...]"
	})
	switch n := len(c.rest); {
	case kind == Nothing && n > 0:
		return usagef("unexpected argument %q; see %s --help", c.rest[0], c.program())
	// Don't print the arguments, because they can include a password.
	case !slices.Contains([]Kind{Nothing, OneOf, Programs}, kind) && !strings.Contains(words[0], "PROVIDER") && !isList && n > 1:
		return usagef("got %d arguments: want one %s; see %s --help", n, strings.Trim(words[0], "[]"), c.program())
	}
	return nil
}

// ordered returns the arguments in the order that urfave/cli expects.
func (c *commandLine) ordered(program []string) ([]string, error) {
	args := slices.Concat(program, c.names)
	switch {
	case c.help, c.command != nil && !c.isNamed():
		return append(args, "--help"), nil
	case c.command == nil && len(c.flags) > 0:
		return nil, usagef("%s requires a command; see tofu-oci --help", c.flags[0].args[0])
	case c.command == nil:
		return args, nil
	}
	for _, f := range c.flags {
		if c.version && !c.hasFlag(f.args[0]) {
			continue
		}
		if FlagNamed(c.command, f.name) == nil {
			return nil, c.unknownFlag(f.args[0], f.name)
		}
		args = append(args, f.args...)
	}
	return slices.Concat(args, []string{"--"}, c.rest), nil
}

// program returns the name of the program followed by the names of the commands so far,
// for use in messages.
func (c *commandLine) program() string {
	return strings.Join(append([]string{"tofu-oci"}, c.names...), " ")
}

// FlagNamed returns a command's flag with the given name, or nil.
func FlagNamed(command *cli.Command, name string) cli.Flag {
	for _, flag := range command.Flags {
		if slices.Contains(flag.Names(), name) {
			return flag
		}
	}
	return nil
}

// flagsNamed returns the flags of commands and their subcommands that have the given
// name.
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
