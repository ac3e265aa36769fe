package configuration

import (
	"regexp"
	"slices"
	"strings"
)

// FromEnvironment returns the options for reading configurations in the same way as
// OpenTofu or Terraform in the given environment. environ has the format of os.Environ.
// args contains the client's arguments.
func FromEnvironment(environ []string, terraform bool, args ...string) Options {
	o := Options{Terraform: terraform, Variables: map[string]string{}}
	for _, entry := range environ {
		switch name, value, _ := strings.Cut(entry, "="); name {
		case "TF_DATA_DIR":
			o.DataDir = value
		case "TF_CLI_ARGS", "TF_CLI_ARGS_init":
			args = slices.Concat(args, strings.Fields(value))
		default:
			if name, is := strings.CutPrefix(name, "TF_VAR_"); is {
				o.Variables[name] = value
			}
		}
	}
	o.UnknownVariables = slices.ContainsFunc(args, variableFlag.MatchString)
	return o
}

// variableFlag matches the flags of tofu and terraform that set variables.
var variableFlag = regexp.MustCompile(`^['"]?--?var(-file)?(=|$)`)
