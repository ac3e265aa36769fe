package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/text"
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
	"version output": "what reads the version, as install.sh does, reads a text unless it asks for more",
	"tofurc check":   "it makes another command of tofurc, which makes no block",
	"tofurc write":   "it names a file that is changed, which has to be meant each time",
}

// ownVariables are flags that mean something else in each command, or in one, or take
// one value there and many elsewhere: their variables begin with the command's name.
// That of base-url would be one of install.sh else.
var ownVariables = []string{"base-url", "dir", "max-age", "recheck", "doctor lock-file", "doctor platform", "serve from"}

// variableOf names the variable that stands for a flag of a command, "" for none.
func variableOf(c *cli.Command, f cli.Flag) string {
	name, command := f.Names()[0], wordsOf(c)
	if noVariable[name] != "" || noVariable[command+" "+name] != "" {
		return ""
	}
	if slices.Contains(ownVariables, name) || slices.Contains(ownVariables, command+" "+name) {
		name = command + " " + name
	}
	return variablePrefix + strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(name))
}

// wordsOf are the command's as they are typed: the library puts the program in front
// when it runs.
func wordsOf(c *cli.Command) string { return strings.TrimPrefix(c.HelpName, "tofu-oci ") }

// fromVariables adds the flags that the command line does not have and variables do.
// One that is empty is as one that is not set.
func (c *call) fromVariables(getenv func(string) string) {
	for _, flag := range c.command.Flags {
		variable := variableOf(c.command, flag)
		if variable == "" || slices.ContainsFunc(c.flags, func(w written) bool { return slices.Contains(flag.Names(), w.name) }) {
			continue
		}
		if value := getenv(variable); value != "" && !isForAnother(flag, value) {
			c.flags = append(c.flags, writtenOf(flag, variable, valuesIn(flag, value)))
		}
	}
}

// isForAnother tells whether a value of a variable is one that another command's flag of
// this name takes, and this one does not.
func isForAnother(flag cli.Flag, value string) bool {
	all := words[flag.Names()[0]]
	return slices.Contains(all, value) && !slices.Contains(wordsOfFlag(flag), value)
}

// ofInstaller are the variables of install.sh, which jobs set in addition to ours.
var ofInstaller = []string{"VERSION", "BASE_URL", "INSTALL_DIR"}

// warnOfVariables warns of variables with our prefix that set no flag of any command, because
// they may be misspelled.
func warnOfVariables(c *cli.Context, environ []string) {
	known := append([]string{strings.TrimPrefix(passphraseVariable, variablePrefix)}, ofInstaller...)
	var learn func([]*cli.Command)
	learn = func(commands []*cli.Command) {
		for _, command := range commands {
			for _, flag := range command.Flags {
				known = append(known, strings.TrimPrefix(variableOf(command, flag), variablePrefix))
			}
			learn(command.Subcommands)
		}
	}
	learn(c.App.Commands)
	slices.Sort(environ)
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		rest, ours := strings.CutPrefix(name, variablePrefix)
		if !ours || value == "" || slices.Contains(known, rest) {
			continue
		}
		warning := "warning: the variable " + name + " sets no flag of any command"
		if meant, found := text.Nearest(rest, known); found {
			warning += "; did you mean " + variablePrefix + meant + "?"
		}
		_, _ = fmt.Fprintln(c.App.ErrWriter, report.Printable(report.OneLine(warning)))
	}
}

// problems finds what is wrong with the values of variables.
func (c *call) problems() error {
	for _, w := range c.flags {
		for _, value := range w.values {
			if problem := valueProblem(flagNamed(c.command, w.name), value); w.variable != "" && problem != "" {
				return usagef("%s=%s: %s", w.variable, value, problem)
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

// namingVariables says of an error where the flags that it names come from the
// environment. Values are no sign of it: a path is in many of them.
func namingVariables(app *cli.App, err error) error {
	variables := sharedBy(app).variables
	if err == nil || len(variables) == 0 {
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
	return fmt.Errorf("%w (%s)", err, strings.Join(names, ", "))
}
