// Package configuration reads which providers a directory requires, as OpenTofu
// 1.12 reads it: from required_providers, and from what uses a provider without
// saying so (resources, data sources, provider and import blocks), of the root
// module, its test files, and the modules that they call. It runs nothing and
// touches no network.
//
// Only what concerns providers is read. A block or an argument that means
// something else is left alone, also one that OpenTofu would refuse: the client
// that runs the configuration judges those, and it may be Terraform.
//
// Texts have to be literals where OpenTofu wants constants: "a${"b"}" is refused.
// Sources of modules can refer to locals and variables, as in OpenTofu 1.8 and later:
// references, templates and conditions are resolved, functions are not. A module whose
// source can't be resolved is found by what init installed.
//
// Providers that only a state knows are not found: no state is read.
package configuration

import (
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Configuration is what a directory requires.
type Configuration struct {
	// Required has each provider once, sorted by address, with the constraints of all
	// modules. Built-in providers, such as that of terraform_remote_state, are left out.
	Required []provider.Requirement
	// NotLookedAt has the modules whose requirements are not known, in the order
	// in which they are called. They are none when init has installed them.
	NotLookedAt []Call
}

// Requires reports whether the configuration requires a provider.
func (c Configuration) Requires(a provider.Address) bool {
	return slices.ContainsFunc(c.Required, func(r provider.Requirement) bool { return r.Address == a })
}

// Call is a module that was not looked at.
type Call struct {
	// Address names the call, as in "module.network.module.dns".
	Address string
	// Source is what the configuration says. It is empty if it is an expression that
	// can't be resolved: then the configuration may require any version of any provider.
	Source   string
	Position stricthcl.Position
	// Reason says why it was not looked at, as in "it is not installed".
	Reason string
}

// String returns "module.network at main.tf:7:1 ("acme/network/aws"): it is not
// installed".
func (c Call) String() string {
	source := "its source can't be resolved"
	if c.Source != "" {
		source = fmt.Sprintf("%q", c.Source)
	}
	return fmt.Sprintf("%s at %s (%s): %s", c.Address, c.Position, source, c.Reason)
}

// Options say how to read. The zero value is what OpenTofu does.
type Options struct {
	// DataDir is where init puts modules, TF_DATA_DIR; ".terraform" when it is
	// empty. A relative one starts in the directory that is read.
	DataDir string
	// Terraform reads as Terraform does: without .tofu files, and providers
	// without a host are those of registry.terraform.io.
	Terraform bool
	// Variables are values of the root module's variables by name, as in TF_VAR_NAME.
	// Those in .tfvars files, which are read, take precedence.
	Variables map[string]string
	// UnknownVariables reports that variables of the root module can have unknown values,
	// such as those of -var. Sources that refer to variables are then not resolved.
	UnknownVariables bool
}
