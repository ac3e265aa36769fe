package main

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
)

// readingAs returns how configurations are read, by the rules of OpenTofu or of
// Terraform.
func readingAs(terraform bool) configuration.Options {
	o := configuration.Options{
		DataDir: os.Getenv("TF_DATA_DIR"), Terraform: terraform, Variables: map[string]string{},
		UnknownVariables: setsVariables(strings.Fields(os.Getenv("TF_CLI_ARGS") + " " + os.Getenv("TF_CLI_ARGS_init"))),
	}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if name, is := strings.CutPrefix(name, "TF_VAR_"); is {
			o.Variables[name] = value
		}
	}
	return o
}

// variableFlag matches the flags of tofu and terraform that set variables.
var variableFlag = regexp.MustCompile(`^['"]?--?var(-file)?(=|$)`)

// setsVariables reports whether arguments of tofu or terraform set variables.
func setsVariables(args []string) bool {
	return slices.ContainsFunc(args, variableFlag.MatchString)
}

// incomplete reports whether a module was not read because its source can't be resolved. A
// module that is only not installed causes a warning.
func incomplete(c configuration.Configuration) bool {
	return slices.ContainsFunc(c.NotLookedAt, func(call configuration.Call) bool { return call.Source == "" })
}

// requiredBy returns the providers to lock for a configuration: those that it requires,
// except those that dev_overrides replace.
func requiredBy(out *report.Report, found configuration.Configuration, config cliconfig.Config) []lock.Wanted {
	wanted := make([]lock.Wanted, 0, len(found.Required))
	for _, r := range found.Required {
		if override, developed := config.DevOverride(r.Address); developed {
			out.Note("%s is not locked, because dev_overrides replace it with %s", r.Address, override.Path)
			continue
		}
		wanted = append(wanted, lock.Wanted{Requirement: r})
	}
	return wanted
}
