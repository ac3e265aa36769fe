// Package configuration determines which providers a configuration requires, in the
// same way as OpenTofu 1.12. It reads required_providers and the blocks that use a
// provider implicitly: resources, data sources, provider blocks, and import blocks. It
// reads the root module, its test files, and the modules that they call. It runs no
// programs and sends no requests.
//
// The package reads only settings that concern providers. It ignores all other blocks
// and arguments, even if they are invalid, because OpenTofu or Terraform validates
// them.
//
// If OpenTofu requires a constant, the package accepts only literals and rejects
// expressions such as "a${"b"}". The sources and versions of modules can refer to
// locals and variables, as in OpenTofu 1.8 and later. The package resolves references,
// templates, and conditions, but not functions. If a call cannot be resolved, the
// package reads the module that init installed. With [Options.Fetch], it reads fetched
// modules instead.
//
// The package does not read the state, so it doesn't find providers that only the state
// uses.
package configuration

import (
	"context"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Configuration contains the requirements of the configuration in a directory.
type Configuration struct {
	// Required contains each provider once, sorted by address, with the constraints of
	// all modules. Built-in providers, such as the provider of terraform_remote_state,
	// are omitted.
	Required []provider.Requirement
	// Unread contains the modules whose requirements are unknown, in the order of their
	// calls. It is empty if init has installed all modules.
	Unread []Call
}

// Requires reports whether the configuration requires a provider.
func (c Configuration) Requires(a provider.Address) bool {
	return slices.ContainsFunc(c.Required, func(r provider.Requirement) bool { return r.Address == a })
}

// Call is a call to a module.
type Call struct {
	// Address is the address of the call, such as "module.network.module.dns".
	Address string
	// Source is the source in the configuration. It is empty if the source is an
	// expression that cannot be resolved. In this case, the module can require any
	// version of any provider.
	Source string
	// Version is the version constraint. It can be empty. It is also empty if the version
	// is an expression that cannot be resolved.
	Version string
	// IsUnresolved reports whether the source or the version is an expression that cannot
	// be resolved.
	IsUnresolved bool
	Position     stricthcl.Position
	// Reason explains why the module was not read, for example "the module is not
	// installed". It is empty for calls that are passed to [Options.Fetch].
	Reason string
}

// String returns a description such as "module.network at main.tf:7:1
// ("acme/network/aws"): the module is not installed".
func (c Call) String() string {
	source := "unresolved source"
	if c.Source != "" {
		source = fmt.Sprintf("%q", c.Source)
	}
	return fmt.Sprintf("%s at %s (%s): %s", c.Address, c.Position, source, c.Reason)
}

// Package is a fetched module package.
type Package struct {
	// Dir is the directory of the package. Subdir is the directory of the module in the
	// package, with forward slashes.
	Dir, Subdir string
	// Name replaces Dir in positions, for example "acme/vpc/aws@1.0.0".
	Name string
}

// Options configures [Load] and [Roots]. The zero value selects OpenTofu's behavior.
type Options struct {
	// DataDir is the data directory of init (TF_DATA_DIR). If empty,
	// ".terraform" is used. A relative path is relative to the configuration directory.
	DataDir string
	// Terraform selects Terraform's behavior: .tofu files are ignored, and the default
	// provider host is registry.terraform.io.
	Terraform bool
	// Variables maps names of the root module's variables to values, like TF_VAR_NAME.
	// Values in .tfvars files take precedence.
	Variables map[string]string
	// UnknownVariables reports whether variables in the root module can have unknown
	// values, for example from -var. If it is set, module sources that refer to
	// variables are not resolved.
	UnknownVariables bool
	// Fetch, if not nil, returns the packages of modules that are not local. Load then
	// ignores the modules that init installed. If the Dir of a package is empty, the
	// module is neither read nor added to Unread. If Fetch returns an error, Load
	// returns it. Load calls Fetch sequentially, once for each call to a module. If ctx
	// is canceled, Load can return before Fetch does.
	Fetch func(ctx context.Context, c Call) (Package, error)
	// skipPlain ignores files for which [isPlain] returns true.
	skipPlain bool
}
