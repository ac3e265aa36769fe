package sync

import (
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// In this package, the address of a module has the form of [module.Address.InRegistry]. See
// [provider.Address.IsRegistryModule].

// IsModule reports whether the address is the address of a module.
func (w Wanted) IsModule() bool { return w.Address.IsRegistryModule() }

// ParseAddress parses the address of a provider or a module. The address of a module is
// "HOST/NAMESPACE/NAME/SYSTEM". It is returned in the format of
// [module.Address.InRegistry]. Errors are of type *[provider.SyntaxError].
func ParseAddress(s string) (provider.Address, error) {
	if strings.Count(s, "/") < 3 {
		return provider.ParseAddress(s)
	}
	a, err := module.ParseAddress(s)
	if err != nil {
		return provider.Address{}, err
	}
	return a.InRegistry(), nil
}

// storedAs returns the address of a provider or module in the repository with the given name.
func storedAs(a provider.Address, repository string) provider.Address {
	if a.IsRegistryModule() {
		return provider.ModuleAddress(repository)
	}
	return a
}

// Pattern matches addresses of either providers or modules. Only one of the fields is
// set.
type Pattern struct {
	Providers provider.Pattern
	Modules   provider.ModulePattern
}

// Match reports whether the pattern matches a provider or module.
func (p Pattern) Match(a provider.Address) bool {
	if a.IsRegistryModule() {
		return p.Modules.Match(a.ASCII())
	}
	return p.Providers.Match(a)
}

// String returns all parts, with the host in Unicode.
func (p Pattern) String() string { return p.Providers.String() + p.Modules.String() }

// specificity returns the number of parts that are not wildcards.
func (p Pattern) specificity() int {
	if p.Modules != (provider.ModulePattern{}) {
		return p.Modules.Specificity()
	}
	return p.Providers.Specificity()
}

// address returns the address that the pattern consists of. If the pattern contains
// wildcards, isAddress is false.
func (p Pattern) address() (a provider.Address, isAddress bool, err error) {
	if strings.Contains(p.String(), "*") {
		return a, false, nil
	}
	a, err = ParseAddress(p.String())
	return a, true, err
}

// repository returns the repository of a provider or module in the target.
func (t Target) repository(a provider.Address) (template.Reference, error) {
	if a.IsRegistryModule() {
		return module.FromRegistry(a).Repository(t.Modules)
	}
	return t.Template.Repository(a)
}

// takes reports whether the target has a template for a provider or module.
func (t Target) takes(a provider.Address) bool {
	return !a.IsRegistryModule() || t.Modules != (template.ModuleTemplate{})
}
