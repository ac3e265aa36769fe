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

// variablePrefix is the prefix of environment variables that set flags.
const variablePrefix = "TOFU_OCI_"

// WithoutVariable lists the flags that no environment variable can set and explains
// why. If the flag belongs to a single command, the command precedes the flag.
var WithoutVariable = map[string]string{
	"help":                "the flag requests help instead of configuring a run",
	"version":             "the flag requests the version instead of configuring a run",
	"force":               "overwriting must be requested each time",
	"password-stdin":      "the flag applies to a single password",
	"lock check":          "the flag prevents lock from writing files",
	"list pending":        "the flag changes the output of list",
	"module list pending": "the flag changes the output of module list",
	"list history":        "the flag changes the output of list",
	"module list history": "the flag changes the output of module list",
	"module":              "the flag selects modules for a single bundle",
	"bundle":              "the flag replaces all other sources for a single run",
	"inventory":           "the flag applies to a single bundle",
	"mirror from":         "in other commands, the flag specifies repositories",
	"version output":      "programs such as install.sh expect text unless they request another format",
	"tofurc write":        "changing a file must be requested each time",
	"plan-file":           "a plan applies to a single run",
	"result-file":         "the flag specifies the output file of a single run",
	"out":                 "the flag specifies the output file of a single run",
	"explain":             "the flag applies to a single provider",
}

// PrefixedVariables lists the flags whose variables contain the command's name. These
// flags have different meanings or types in different commands.
var PrefixedVariables = []string{"bundle create modules-from", "bundle inventory modules-from", "dir", "doctor lock-file", "doctor platform", "exec root", "module list from", "module mirror to", "module pull from", "module push sbom", "module push to", "serve from", "sync report max-age"}

// VariableOf returns the environment variable that sets a command's flag. If no
// variable sets the flag, VariableOf returns "".
func VariableOf(c *cli.Command, f cli.Flag) string {
	name, command := f.Names()[0], nameOf(c)
	if WithoutVariable[name] != "" || WithoutVariable[command+" "+name] != "" {
		return ""
	}
	if slices.Contains(PrefixedVariables, name) || slices.Contains(PrefixedVariables, command+" "+name) {
		name = command + " " + name
	}
	return variableFor(name)
}

// underscores replaces the separators in names with underscores.
var underscores = strings.NewReplacer("-", "_", " ", "_")

// variableFor returns the environment variable for a flag's name.
func variableFor(name string) string {
	return variablePrefix + strings.ToUpper(underscores.Replace(name))
}

// nameOf returns a command's name without the program's name, which urfave/cli prepends
// at run time.
func nameOf(c *cli.Command) string { return strings.TrimPrefix(c.HelpName, "tofu-oci ") }

// addVariables adds flags that environment variables set and the command line doesn't.
// It ignores empty variables.
func (c *commandLine) addVariables(getenv func(string) string) {
	for _, flag := range c.command.Flags {
		variable := VariableOf(c.command, flag)
		if variable == "" || slices.ContainsFunc(c.flags, func(f setFlag) bool { return slices.Contains(flag.Names(), f.name) }) {
			continue
		}
		value := getenv(variable)
		if value == "" || isForOtherCommand(flag, value) {
			continue
		}
		f := setFlag{name: flag.Names()[0], values: splitValues(flag, value), variable: variable}
		f.isUnset = isUnset(flag, f.values)
		for _, value := range f.values {
			f.args = append(f.args, "--"+f.name+"="+value)
		}
		c.flags = append(c.flags, f)
	}
}

// variables maps flag names to the environment variables that set the flags.
func (c *commandLine) variables() map[string]string {
	set := map[string]string{}
	for _, f := range c.flags {
		if f.variable != "" {
			set[f.name] = f.variable
		}
	}
	return set
}

// isForOtherCommand reports whether a variable's value is intended for a different
// command. This is the case if the given flag rejects the value, but another command's
// flag with the same name accepts it.
func isForOtherCommand(flag cli.Flag, value string) bool {
	return slices.Contains(choices[flag.Names()[0]], value) && !slices.Contains(ChoicesOf(flag), value)
}

// installerVariables contains the variables of install.sh, which can be set in the same
// environment.
var installerVariables = []string{"VERSION", "BASE_URL", "INSTALL_DIR"}

// declarationPrefix follows variablePrefix in the names of variables that declarations
// can read.
const declarationPrefix = "SYNC_"

// UnknownVariables returns a warning for each variable that has the program's prefix
// but sets no flag of any command. The variable's name might be misspelled. known lists
// variables that have a different purpose.
func UnknownVariables(commands []*cli.Command, environ []string, known ...string) (warnings []string) {
	names := slices.Concat(known, installerVariables, variablesOf(commands))
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, variablePrefix)
	}
	slices.Sort(environ)
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		rest, hasPrefix := strings.CutPrefix(name, variablePrefix)
		if !hasPrefix || value == "" || slices.Contains(names, rest) || strings.HasPrefix(rest, declarationPrefix) {
			continue
		}
		warning := "unknown environment variable " + name
		if suggestion, found := text.Nearest(rest, names); found {
			warning += "; did you mean " + variablePrefix + suggestion + "?"
		}
		warnings = append(warnings, warning)
	}
	return warnings
}

// variablesOf returns the variables of all flags of commands and their subcommands.
func variablesOf(commands []*cli.Command) (names []string) {
	for _, command := range commands {
		for _, flag := range command.Flags {
			names = append(names, VariableOf(command, flag))
		}
		names = append(names, variablesOf(command.Subcommands)...)
	}
	return names
}

// checkVariables returns an error if a variable's value is invalid.
func (c *commandLine) checkVariables() error {
	for _, f := range c.flags {
		for _, value := range f.values {
			if problem := checkValue(FlagNamed(c.command, f.name), value); f.variable != "" && problem != "" {
				return usagef("invalid %s %q: %s", f.variable, value, problem)
			}
		}
	}
	return nil
}

// splitValues splits a variable's value. Newlines separate the values of a repeatable
// flag. If the value contains only one line, commas separate the values.
func splitValues(flag cli.Flag, text string) []string {
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

// WithVariables adds environment variables to an error if they set flags that the
// message mentions. It recognizes flags by their names and not by their values, because
// a short value can occur in unrelated messages.
func WithVariables(err error, variables map[string]string) error {
	if err == nil {
		return nil
	}
	flags := flagInText.FindAllString(err.Error(), -1)
	var names []string
	for _, flag := range slices.Sorted(maps.Keys(variables)) {
		if slices.Contains(flags, "--"+flag) {
			names = append(names, variables[flag]+" sets --"+flag)
		}
	}
	if names == nil {
		return err
	}
	return fmt.Errorf("%w (%s)", err, strings.Join(names, ", "))
}
