package sync

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// In this package, the address of a module has the form of [module.Address.InRegistry].
func isModule(a provider.Address) bool { return strings.Contains(a.Type, "/") }

// IsModule reports whether the address is the address of a module.
func (w Wanted) IsModule() bool { return isModule(w.Address) }

// ParseAddress parses the address of a provider or a module. The address of a module is
// "HOST/NAMESPACE/NAME/SYSTEM". It is returned in the form of
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

// storedAs returns the address of a provider or module in a repository.
func storedAs(a provider.Address, repo fmt.Stringer) provider.Address {
	if isModule(a) {
		return provider.ModuleAddress(repo.String())
	}
	return a
}

// Pattern matches addresses of providers, or addresses of modules. Only one of the
// fields is set.
type Pattern struct {
	Providers provider.Pattern
	Modules   provider.ModulePattern
}

// Match reports whether the pattern matches a provider or module.
func (p Pattern) Match(a provider.Address) bool {
	if isModule(a) {
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
	if isModule(a) {
		return module.FromRegistry(a).Repository(t.Modules)
	}
	return t.Template.Repository(a)
}

// takes reports whether the target has a template for a provider or module.
func (t Target) takes(a provider.Address) bool {
	return !isModule(a) || t.Modules != (template.ModuleTemplate{})
}
