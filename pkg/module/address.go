// Package module stores OpenTofu modules in OCI repositories, in the format for
// OpenTofu's oci:// module sources.
//
//	push = directory → zip → plan → OCI repository
//
// [Push] pushes the module in a directory, and [Mirror] mirrors modules from module
// registries.
package module

import (
	"fmt"
	"strings"

	tfaddr "github.com/hashicorp/terraform-registry-address"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Address identifies a module in a module registry. Addresses are comparable using ==.
// As in OpenTofu, names are case-sensitive. The zero value is not a valid address.
type Address struct {
	// Hostname is the module registry's host name, normalized like the host of a
	// [provider.Address].
	Hostname                svchost.Hostname
	Namespace, Name, System string
}

// ParseAddress parses "[HOST/]NAMESPACE/NAME/SYSTEM". The default host is
// [provider.DefaultHost]. Errors are of type *[provider.SyntaxError].
func ParseAddress(s string) (Address, error) {
	r, subdirectory, err := ParseCall(s, "", provider.DefaultHost)
	if err == nil && subdirectory != "" {
		return Address{}, syntaxError(s, "omit the subdirectory; the package always contains all directories")
	}
	return r.Address, err
}

func syntaxError(input, problem string) error {
	return &provider.SyntaxError{What: "module address", Input: input, Problem: problem}
}

// String returns "host/namespace/name/system" with the host in Unicode. It returns ""
// for the zero value.
func (a Address) String() string {
	if a == (Address{}) {
		return ""
	}
	return strings.Join([]string{a.Hostname.ForDisplay(), a.Namespace, a.Name, a.System}, "/")
}

// Repository returns the repository for the module according to a template. Errors are
// of type *[template.ReferenceError].
func (a Address) Repository(t template.ModuleTemplate) (template.Reference, error) {
	return t.Repository(a.InRegistry())
}

// Requirement is a module with a version constraint.
type Requirement struct {
	Address    Address
	Constraint provider.Constraint
}

// ParseRequirement parses "[HOST/]NAMESPACE/NAME/SYSTEM[@CONSTRAINT]". "@latest" means
// no constraint. Errors wrap a *[provider.SyntaxError].
func ParseRequirement(s string) (Requirement, error) {
	address, constraint, constrained := strings.Cut(s, "@")
	a, err := ParseAddress(address)
	if err != nil {
		return Requirement{}, err
	}
	if !constrained || strings.EqualFold(strings.TrimSpace(constraint), "latest") {
		constraint = ""
	}
	r := Requirement{Address: a}
	if r.Constraint, err = provider.ParseModuleConstraint(constraint); err != nil {
		return Requirement{}, fmt.Errorf("%s: %w", s, err)
	}
	return r, nil
}

// ParseCall parses the source and the version constraint of a module block, such as
// "acme/vpc/aws//modules/a" and "~> 1.0". subdirectory is a path in the package.
// defaultHost is used for sources that contain no host. Errors wrap a
// *[provider.SyntaxError].
func ParseCall(source, constraint string, defaultHost svchost.Hostname) (r Requirement, subdirectory string, err error) {
	parsed, err := tfaddr.ParseModuleSource(source)
	if err != nil {
		return r, "", syntaxError(source, err.Error())
	}
	r.Address = Address{Hostname: parsed.Package.Host, Namespace: parsed.Package.Namespace, Name: parsed.Package.Name, System: parsed.Package.TargetSystem}
	if address, _, _ := strings.Cut(source, "//"); strings.Count(address, "/") == 2 {
		r.Address.Hostname = defaultHost // the library might have a different default
	}
	if r.Constraint, err = provider.ParseModuleConstraint(constraint); err != nil {
		err = fmt.Errorf("%s: %w", source, err)
	}
	return r, parsed.Subdir, err
}

// String returns the form that [ParseRequirement] parses.
func (r Requirement) String() string {
	if r.Constraint.IsZero() {
		return r.Address.String()
	}
	return r.Address.String() + "@" + r.Constraint.String()
}
