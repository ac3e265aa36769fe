package page

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
)

// tab is a tab of the box that contains configuration snippets. Number is 1 for the
// first tab.
type tab struct {
	Number int
	Name   string
	Steps  []step
}

// step is a snippet to copy into a file. Label describes the snippet for screen
// readers.
type step struct{ File, Label, Text string }

// tabs removes empty steps and tabs. It numbers the remaining tabs.
func tabs(all ...tab) (used []tab) {
	for _, t := range all {
		var steps []step
		for _, s := range t.Steps {
			if s.Text != "" {
				steps = append(steps, s)
			}
		}
		if steps != nil {
			used = append(used, tab{len(used) + 1, t.Name, steps})
		}
	}
	return used
}

// Programs, and the hosts that they use for addresses without a host.
const (
	openTofu, openTofuHost   = "OpenTofu", "registry.opentofu.org"
	terraform, terraformHost = "Terraform", "registry.terraform.io"
)

// useProvider returns the tabs for a version of a provider. installation is a block of
// the CLI configuration, and lock is a block of a lock file. Each can be empty.
func useProvider(p api.ProviderRef, version, installation, lock string) []tab {
	tool := func(name, host, file string) tab {
		return tab{Name: name, Steps: []step{
			{"versions.tf", "the requirement for " + name, requirement(p, version, host)},
			{file, "the CLI configuration for " + name, installation},
		}}
	}
	return tabs(
		tool(openTofu, openTofuHost, "~/.tofurc"), tool(terraform, terraformHost, "~/.terraformrc"),
		tab{Name: "Lock entry", Steps: []step{{".terraform.lock.hcl", "the lock file entry", lock}}},
	)
}

// requirement returns a required_providers block.
func requirement(p api.ProviderRef, version, defaultHost string) string {
	if version == "" {
		return ""
	}
	return fmt.Sprintf("terraform {\n  required_providers {\n    %s = {\n      source  = %q\n      version = %q\n    }\n  }\n}\n",
		p.Type, strings.TrimPrefix(p.Address, defaultHost+"/"), version)
}

// useModule returns the tabs for a version of a module.
func useModule(m api.ModuleRef, version, subdirectory, installation string) []tab {
	elements := strings.Split(m.Address, "/")
	if version == "" || len(elements) != 4 {
		return nil
	}
	call := func(source, more string) string {
		return fmt.Sprintf("module %q {\n  source%s = %q\n%s}\n", elements[2], strings.Repeat(" ", min(len(more), 1)), source, more)
	}
	tool := func(name, host, file string) tab {
		text := call(strings.TrimPrefix(m.Address, host+"/"), fmt.Sprintf("  version = %q\n", version))
		return tab{Name: name, Steps: []step{{"main.tf", "the module call for " + name, text}, {file, "the CLI configuration for " + name, installation}}}
	}
	direct := ""
	if m.Repository != "" && !strings.HasPrefix(m.Repository, "oci-layout:") {
		if subdirectory != "" {
			subdirectory = "//" + subdirectory
		}
		direct = call("oci://"+m.Repository+subdirectory+"?tag="+strings.ReplaceAll(version, "+", "_"), "")
	}
	return tabs(
		tool(openTofu, openTofuHost, "~/.tofurc"), tool(terraform, terraformHost, "~/.terraformrc"),
		tab{Name: "OCI registry", Steps: []step{{"main.tf (OpenTofu 1.10 or later, without this server)", "the OCI module call", direct}}},
	)
}
