package commandline

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// variablePrefix begins the names of variables that stand for flags.
const variablePrefix = "TOFU_OCI_"

// NoVariable are flags that no variable stands for, alone or behind a command, and why.
var NoVariable = map[string]string{
	"help":             "it is a question, not a setting",
	"version":          "it is a question, not a setting",
	"force":            "what it overwrites has to be meant each time",
	"password-stdin":   "it says where this one password comes from",
	"list check-level": "its levels ask for more than the list, which is meant each time",
	"lock check":       "it makes another command of lock, which writes nothing",
	"list pending":     "it makes another command of list",
	"version output":   "what reads the version, as install.sh does, reads a text unless it asks for more",
	"tofurc validate":  "it makes another command of tofurc, which makes no block",
	"tofurc write":     "it names a file that is changed, which has to be meant each time",
}

// OwnVariables are flags that mean something else in each command, or in one, or take
// one value there and many elsewhere: their variables begin with the command's name.
// That of base-url would be one of install.sh else.
var OwnVariables = []string{"base-url", "dir", "doctor lock-file", "doctor platform", "serve from"}

// VariableOf returns the environment variable of a command's flag, or "" if it has none.
func VariableOf(c *cli.Command, f cli.Flag) string {
	name, command := f.Names()[0], nameOf(c)
	if NoVariable[name] != "" || NoVariable[command+" "+name] != "" {
		return ""
	}
	if slices.Contains(OwnVariables, name) || slices.Contains(OwnVariables, command+" "+name) {
		name = command + " " + name
	}
	return variablePrefix + strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(name))
}

// wordsOf are the command's as they are typed: the library puts the program in front
// when it runs.
func nameOf(c *cli.Command) string { return strings.TrimPrefix(c.HelpName, "tofu-oci ") }

// fromVariables adds the flags that the command line does not have and variables do. An
// empty variable is as one that is not set.
func (c *call) fromVariables(getenv func(string) string) {
	for _, flag := range c.command.Flags {
		variable := VariableOf(c.command, flag)
		if variable == "" || slices.ContainsFunc(c.flags, func(g given) bool { return slices.Contains(flag.Names(), g.name) }) {
			continue
		}
		value := getenv(variable)
		if value == "" || isForAnother(flag, value) {
			continue
		}
		g := given{name: flag.Names()[0], values: valuesIn(flag, value), variable: variable}
		g.off = isOff(flag, g.values)
		for _, value := range g.values {
			g.args = append(g.args, "--"+g.name+"="+value)
		}
		c.flags = append(c.flags, g)
	}
}

// variables maps the flags that variables set to those.
func (c *call) variables() map[string]string {
	set := map[string]string{}
	for _, g := range c.flags {
		if g.variable != "" {
			set[g.name] = g.variable
		}
	}
	return set
}

// isForAnother reports whether a value of a variable is one that another command's flag of
// this name takes, and this one does not.
func isForAnother(flag cli.Flag, value string) bool {
	all := words[flag.Names()[0]]
	return slices.Contains(all, value) && !slices.Contains(WordsOf(flag), value)
}

// ofInstaller are the variables of install.sh, which jobs set in addition to ours.
var ofInstaller = []string{"VERSION", "BASE_URL", "INSTALL_DIR"}

// UnknownVariables warns of variables with our prefix that set no flag of any command, because
// they may be misspelled. known are those with another use.
func UnknownVariables(commands []*cli.Command, environ []string, known ...string) (warnings []string) {
	names := slices.Concat(known, ofInstaller, variablesOf(commands))
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, variablePrefix)
	}
	slices.Sort(environ)
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		rest, ours := strings.CutPrefix(name, variablePrefix)
		if !ours || value == "" || slices.Contains(names, rest) {
			continue
		}
		warning := "the variable " + name + " sets no flag of any command"
		if meant, found := text.Nearest(rest, names); found {
			warning += "; did you mean " + variablePrefix + meant + "?"
		}
		warnings = append(warnings, warning)
	}
	return warnings
}

// variablesOf returns the variables of all flags.
func variablesOf(commands []*cli.Command) (names []string) {
	for _, command := range commands {
		for _, flag := range command.Flags {
			names = append(names, VariableOf(command, flag))
		}
		names = append(names, variablesOf(command.Subcommands)...)
	}
	return names
}

// problems finds what is wrong with the values of variables.
func (c *call) problems() error {
	for _, g := range c.flags {
		for _, value := range g.values {
			if problem := valueProblem(FlagNamed(c.command, g.name), value); g.variable != "" && problem != "" {
				return usagef("%s=%s: %s", g.variable, value, problem)
			}
		}
	}
	return nil
}

// valuesIn are those of a variable: of a flag that may be repeated one a line, or, in
// one line, between commas.
func valuesIn(flag cli.Flag, text string) []string {
	if _, repeatable := flag.(*cli.StringSliceFlag); !repeatable {
		return []string{text}
	}
	separator := ","
	if strings.Contains(text, "\n") {
		separator = "\n"
	}
	var values []string
	for value := range strings.SplitSeq(text, separator) {
		if value = strings.TrimSpace(value); value != "" {
			values = append(values, value)
		}
	}
	return values
}

var flagInText = regexp.MustCompile(`--[a-z][a-z0-9-]*`)

// NameVariables adds to an error which of the flags that it names come from variables.
// Values are no sign of it: a path is in many of them.
func NameVariables(err error, variables map[string]string) error {
	if err == nil {
		return nil
	}
	named := flagInText.FindAllString(err.Error(), -1)
	var names []string
	for _, flag := range slices.Sorted(maps.Keys(variables)) {
		if slices.Contains(named, "--"+flag) {
			names = append(names, variables[flag]+" sets --"+flag)
		}
	}
	if names == nil {
		return err
	}
	return fmt.Errorf("%w (%s)", err, strings.Join(names, ", "))
}
