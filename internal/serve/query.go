package serve

import (
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// In this package, the address of a module is in lower case and has the form of
// [module.Address.InRegistry]. See [provider.Address.IsRegistryModule]. If the address of
// a release is unknown, its host is empty.

// parseAddress parses the address of a provider or module. For a module, exact
// preserves the capitalization of the text, because module registries are case-sensitive.
// If the text is invalid, the addresses are unknown.
func parseAddress(text string, isModule bool) (a, exact provider.Address, err error) {
	if !isModule {
		a, err = provider.ParseAddress(text)
		return a, a, err
	}
	parsed, err := module.ParseAddress(text)
	a, exact = parsed.InRegistry(), parsed.InRegistry()
	a.Namespace, a.Type = strings.ToLower(a.Namespace), strings.ToLower(a.Type)
	return a, exact, err
}

// unknownAddress returns the address that represents unknown addresses.
func unknownAddress(isModule bool) provider.Address {
	if isModule {
		return module.Address{}.InRegistry()
	}
	return provider.Address{}
}

// query is a caller's request for a provider or module in a set.
type query struct {
	*providerSet
	address provider.Address
	// origin is the address in the origin registry. For modules, it has the
	// capitalization of the request.
	origin provider.Address
	// shown is the address that users write. For a published host, it differs from the
	// address in the repositories.
	shown provider.Address
	// host is the HOST element of links: the host in the address, or an element that
	// starts with [ownHost].
	host string
	// caller is the sender of the request. The zero value can't read anything. byLink
	// reports whether a signed link grants access.
	caller access.Caller
	byLink bool
}

func (q query) isModule() bool { return q.address.IsRegistryModule() }

// noun returns "module" for a module, and the given noun for a provider.
func (q query) noun(ofProvider string) string {
	if q.isModule() {
		return "module"
	}
	return ofProvider
}

// filename returns the file name of a package.
func (q query) filename(v provider.Version, p provider.Platform) string {
	if name, _, isModule := strings.Cut(q.address.Type, "/"); isModule {
		return name + "_" + v.String() + ".zip"
	}
	return provider.Filename(q.address, v, p)
}
