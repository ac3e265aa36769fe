package lockfile

import (
	"slices"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// SelectionsForOpenTofu returns the selections with which OpenTofu 1.10 and later
// installs providers, sorted by address. They differ from [File.Selections] only for
// registry.terraform.io/hashicorp/NAME, the predecessor of
// registry.opentofu.org/hashicorp/NAME. OpenTofu builds the successor from the same
// source code. The differences are:
//
//   - If the file locks only the predecessor, the successor is also selected, with the
//     same version. The selection has no hashes, because the packages differ.
//   - The predecessor itself is selected only if it is required. In this case, the
//     successor must be required, too.
//
// requires reports whether a provider is required. It is called only for predecessors
// and their successors. Terraform doesn't replace predecessors with successors, so use
// [File.Selections] for it.
func (f *File) SelectionsForOpenTofu(requires func(provider.Address) bool) []Selection {
	var all []Selection
	for _, s := range f.Selections() {
		successor, has := successorOf(s.Address)
		if !has {
			all = append(all, s)
			continue
		}
		required := requires(s.Address)
		if required {
			all = append(all, s)
		}
		if _, locked := f.Selection(successor); !locked && (!required || requires(successor)) {
			all = append(all, Selection{Address: successor, Version: s.Version, Constraints: s.Constraints, Line: s.Line, Predecessor: s.Address})
		}
	}
	slices.SortFunc(all, func(a, b Selection) int { return a.Address.Compare(b.Address) })
	return all
}

// successorOf returns the provider that replaces a provider in OpenTofu. See
// UpgradeFromPredecessorProject in OpenTofu's package internal/depsfile.
func successorOf(a provider.Address) (successor provider.Address, ok bool) {
	if a.Host != svchost.Hostname("registry.terraform.io") || a.Namespace != "hashicorp" {
		return provider.Address{}, false
	}
	a.Host = provider.DefaultHost
	return a, true
}
