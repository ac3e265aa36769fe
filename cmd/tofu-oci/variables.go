package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// variablePrefix begins the names of variables that stand for flags.
const variablePrefix = "TOFU_OCI_"

// noVariable are flags that no variable stands for, alone or behind a command, and why.
var noVariable = map[string]string{
	"help":           "it is a question, not a setting",
	"version":        "it is a question, not a setting",
	"force":          "what it overwrites has to be meant each time",
	"password-stdin": "it says where this one password comes from",
	"list check":     "its levels ask for more than the list, which is meant each time",
	"lock check":     "it makes another command of lock, which writes nothing",
	"list pending":   "it makes another command of list",
	"tofurc check":   "it makes another command of tofurc, which makes no block",
	"tofurc write":   "it names a file that is changed, which has to be meant each time",
}

// ownVariables are flags that mean something else in each command: their variables
// begin with its name. That of base-url would be one of install.sh else.
var ownVariables = []string{"base-url", "dir", "max-age", "recheck"}

// variableOf names the variable that stands for a flag of a command, "" for none.
func variableOf(c *cli.Command, f cli.Flag) string {
	name, command := f.Names()[0], wordsOf(c)
	if noVariable[name] != "" || noVariable[command+" "+name] != "" {
		return ""
	}
	if slices.Contains(ownVariables, name) {
		name = command + " " + name
	}
	return variablePrefix + strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(name))
}

// wordsOf are the command's as they are typed: the library puts the program in front
// when it runs.
func wordsOf(c *cli.Command) string { return strings.TrimPrefix(c.HelpName, "tofu-oci ") }

// argument stands for an argument of the command line among the names of flags.
const argument = ""

// conditions say where a variable, which was set for many commands, does not count:
// beside flags of the command line that contradict it, and without the flag that it
// says more about.
var conditions = []struct {
	// command is the only one that it holds for, "" for every.
	command   string
	variables []string
	unless    []string
	with      string
}{
	{variables: []string{"latest"}, unless: []string{"all"}},
	{variables: []string{"all"}, unless: []string{"latest"}},
	{command: "mirror", variables: []string{"latest", "all"}, unless: []string{"lock-file"}},
	{command: "mirror", variables: []string{"lock-file"}, unless: []string{"latest", "all"}},
	{command: "list", variables: []string{"from", "providers"}, unless: []string{"server"}},
	{command: "list", variables: []string{"providers"}, unless: []string{argument}},
	{command: "list", variables: []string{"server"}, unless: []string{"from", "providers", "pending"}},
	{command: "doctor", variables: []string{"from"}, unless: []string{"to"}},
	{command: "doctor", variables: []string{"to"}, unless: []string{"from"}},
	{command: "lock", variables: []string{"upgrade", "compute-h1", "dry-run", "sources"}, unless: []string{"check"}},
	{command: "lock", variables: []string{"dir", "recursive"}, unless: []string{"lock-file"}},
	{command: "lock", variables: []string{"recursive"}, unless: []string{"sources", argument}},
	{command: "lock", variables: []string{"sources"}, unless: []string{"recursive"}},
	{command: "lock", variables: []string{"lock-file"}, with: "check"},
	{command: "tofurc", variables: []string{"output"}, with: "check"},
	{command: "tofurc", variables: []string{"dry-run"}, with: "write"},
	{command: "serve", variables: []string{"min-age", "signatures", "keyring", "trust"}, with: "pull-through"},
	{variables: []string{"sign-passphrase-file"}, with: "sign-key"},
}

// fromVariables adds the flags that the command line does not have and variables do.
// One that is empty is as one that is not set.
func (c *call) fromVariables(getenv func(string) string) error {
	var found []written
	for _, flag := range c.command.Flags {
		variable := variableOf(c.command, flag)
		if variable == "" || slices.ContainsFunc(flag.Names(), c.has) {
			continue
		}
		if value := getenv(variable); value != "" {
			found = append(found, written{name: flag.Names()[0], variable: variable, values: valuesIn(flag, value)})
		}
	}
	var counting []written
	for _, w := range found {
		if c.counts(w.name, found) {
			counting = append(counting, w)
		}
	}
	for _, w := range counting {
		for _, value := range w.values {
			if problem := valueProblem(flagNamed(c.command, w.name), value); problem != "" {
				return usagef("%s=%s: %s", w.variable, value, problem)
			}
			w.args = append(w.args, "--"+w.name+"="+value)
		}
		c.flags = append(c.flags, w)
	}
	return nil
}

// counts tells whether the variable of a flag does, beside those that were found.
func (c *call) counts(flag string, found []written) bool {
	for _, condition := range conditions {
		if condition.command != "" && condition.command != c.command.Name || !slices.Contains(condition.variables, flag) {
			continue
		}
		isThere := c.has(condition.with) || slices.ContainsFunc(found, func(w written) bool { return w.name == condition.with })
		if slices.ContainsFunc(condition.unless, c.has) || condition.with != "" && !isThere {
			return false
		}
	}
	return true
}

// has tells whether the command line has a flag, by this name of it, or an [argument].
func (c *call) has(name string) bool {
	if name == argument {
		return len(c.rest) > 0
	}
	return slices.ContainsFunc(c.flags, func(w written) bool { return w.name == name })
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

// variableError is an error that is about what variables say, which the command line
// does not show.
type variableError struct {
	err   error
	names []string
}

func (e *variableError) Error() string {
	return fmt.Sprintf("%v (%s)", e.err, strings.Join(e.names, ", "))
}

func (e *variableError) Unwrap() error { return e.err }

var flagInText = regexp.MustCompile(`--[a-z][a-z0-9-]*`)

// namingVariables says of an error where the flags that it names come from the
// environment. Values are no sign of it: a path is in many of them.
func namingVariables(app *cli.App, err error) error {
	variables := variablesOf(app)
	if err == nil || isA[*variableError](err) || len(variables) == 0 {
		return err
	}
	named := flagInText.FindAllString(err.Error(), -1)
	var names []string
	for _, flag := range slices.Sorted(maps.Keys(variables)) {
		if slices.Contains(named, "--"+flag) {
			names = append(names, variables[flag].variable+" sets --"+flag)
		}
	}
	if names == nil {
		return err
	}
	return &variableError{err, names}
}

// variablesOf are the flags of the run that variables set.
func variablesOf(app *cli.App) map[string]written {
	variables, _ := app.Metadata[variablePrefix].(map[string]written)
	return variables
}
