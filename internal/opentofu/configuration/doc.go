// Package configuration reads which providers a directory requires, like OpenTofu 1.12:
// from required_providers, and from resources, data sources, provider blocks, and
// import blocks that use a provider implicitly. It reads the root module, its test
// files, and the modules that they call. It runs nothing and sends no requests.
//
// Only the parts about providers are read. Other blocks and arguments are ignored, even
// invalid ones: the client that uses the configuration validates them, and that client
// can be Terraform.
//
// Where OpenTofu expects constants, literals are required: "a${"b"}" is rejected.
// Sources of modules can refer to locals and variables, like in OpenTofu 1.8 and later.
// References, templates, and conditions are resolved, but functions are not. If a
// source cannot be resolved, the module that init installed is used.
//
// Providers that are only in the state are not found, because no state is read.
package configuration

import (
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Configuration has the requirements of a directory.
type Configuration struct {
	// Required has each provider once, sorted by address, with the constraints of all
	// modules. Built-in providers, such as the provider of terraform_remote_state, are
	// omitted.
	Required []provider.Requirement
	// Unread lists the modules whose requirements are unknown, in the order of
	// their calls. It is empty if init has installed all modules.
	Unread []Call
}

// Requires reports whether the configuration requires a provider.
func (c Configuration) Requires(a provider.Address) bool {
	return slices.ContainsFunc(c.Required, func(r provider.Requirement) bool { return r.Address == a })
}

// Call is a module that was not read.
type Call struct {
	// Address is the address of the call, such as "module.network.module.dns".
	Address string
	// Source is the source in the configuration. It is empty if it is an expression
	// that cannot be resolved. Then the module can require any version of any provider.
	Source   string
	Position stricthcl.Position
	// Reason is the reason why the module was not read, such as "the module is not installed".
	Reason string
}

// String returns a text such as "module.network at main.tf:7:1 ("acme/network/aws"): the
// module is not installed".
func (c Call) String() string {
	source := "unresolved source"
	if c.Source != "" {
		source = fmt.Sprintf("%q", c.Source)
	}
	return fmt.Sprintf("%s at %s (%s): %s", c.Address, c.Position, source, c.Reason)
}

// Options configures [Load] and [Roots]. The zero value reads like OpenTofu.
type Options struct {
	// DataDir is the data directory of init (TF_DATA_DIR). If empty, it is
	// ".terraform". A relative path is relative to the directory that is read.
	DataDir string
	// Terraform selects the behavior of Terraform: .tofu files are ignored, and the
	// default host of providers is registry.terraform.io.
	Terraform bool
	// Variables has values of the root module's variables by name, like TF_VAR_NAME.
	// Values in .tfvars files take precedence.
	Variables map[string]string
	// UnknownVariables reports whether variables of the root module can have unknown
	// values, for example from -var. Then sources that refer to variables are not
	// resolved.
	UnknownVariables bool
}
