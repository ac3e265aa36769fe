package provider

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	tfaddr "github.com/hashicorp/terraform-registry-address"
	svchost "github.com/hashicorp/terraform-svchost"
)

// DefaultHost is the origin registry for addresses without a host. It is OpenTofu's
// registry. The address library might use a different default.
const DefaultHost = svchost.Hostname("registry.opentofu.org")

// Address identifies a provider by host, namespace, and type. All parts are normalized,
// so addresses of the same provider are equal by ==. Create addresses with
// [ParseAddress]. The zero value is not a valid address. In flows that also support
// modules, an address can identify a module. See [ModuleAddress].
type Address struct {
	// Host is the normalized host name of the origin registry: Punycode in lower case,
	// followed by ":port" if the address has a port.
	Host svchost.Hostname
	// Namespace and Type are lower-case DNS labels. They can contain non-ASCII letters.
	Namespace, Type string
}

// ParseAddress parses "namespace/type" or "host/namespace/type". Like OpenTofu, it
// rejects one-part names, legacy names, built-in providers, and underscores. The
// address library accepts some of these. Errors are of type *[SyntaxError].
func ParseAddress(s string) (Address, error) {
	fail := func(offset int, problem string) (Address, error) {
		return Address{}, &SyntaxError{What: "provider address", Input: s, Offset: offset, Problem: problem}
	}
	if offset, problem := diagnoseAddress(s); problem != "" {
		return fail(offset, problem)
	}
	parts := strings.Split(s, "/")
	if len(parts) != 2 && len(parts) != 3 {
		return fail(0, "must be NAMESPACE/TYPE or HOST/NAMESPACE/TYPE")
	}
	host := DefaultHost
	offset := 0
	if len(parts) == 3 {
		if parts[0] == "" {
			return fail(0, "the host is empty")
		}
		var err error
		if host, err = ParseHost(parts[0]); err != nil {
			return fail(0, "invalid host: "+err.Error())
		}
		offset = len(parts[0]) + 1
		parts = parts[1:]
	}
	namespace, problem := parsePart(parts[0])
	if problem != "" {
		if _, other := parsePart(strings.ReplaceAll(parts[0], "_", "")); other == "" && strings.Contains(parts[0], "_") {
			problem = "contains an underscore, which Terraform accepts since version 1.16, but OpenTofu does not"
		}
		return fail(offset, "the namespace "+problem)
	}
	typeOffset := offset + len(parts[0]) + 1
	typ, problem := parsePart(parts[1])
	if problem != "" {
		return fail(typeOffset, "the type "+problem)
	}
	for _, redundant := range []string{"terraform-", "opentofu-"} {
		if rest, found := strings.CutPrefix(typ, redundant); found {
			rest = strings.TrimPrefix(rest, "provider-")
			return fail(typeOffset, fmt.Sprintf("the type must not start with %q; did you mean %q?", redundant, rest))
		}
	}
	if namespace == tfaddr.BuiltInProviderNamespace && (host == tfaddr.BuiltInProviderHost || host == "opentofu.org") {
		return fail(0, "built-in providers are part of OpenTofu and cannot be installed")
	}
	return Address{Host: host, Namespace: namespace, Type: typ}, nil
}

// ParseHost parses "host" or "host:port" in Unicode and returns the normalized form. It
// rejects names that the library accepts but can't convert back to Unicode, such as
// names with invalid UTF-8.
func ParseHost(s string) (svchost.Hostname, error) {
	host, err := svchost.ForComparison(s)
	if err != nil {
		return "", err
	}
	if again, err := svchost.ForComparison(svchost.ForDisplay(string(host))); err != nil || again != host {
		return "", errors.New("contains characters that are not allowed in host names")
	}
	return host, nil
}

// parsePart normalizes a namespace or type. If the part is not valid, problem is the
// reason.
func parsePart(s string) (part, problem string) {
	switch s {
	case "":
		return "", "is empty"
	case tfaddr.LegacyProviderNamespace, tfaddr.UnknownProviderNamespace:
		return "", "\"" + s + "\" is a placeholder in old configurations, not a name"
	}
	part, err := tfaddr.ParseProviderPart(s)
	if err != nil {
		return "", "is not valid: " + err.Error()
	}
	// The library checks for dots and dashes before normalization. Normalization then
	// converts U+3002 to a dot and removes soft hyphens, so check again.
	if again, err := tfaddr.ParseProviderPart(part); err != nil || again != part {
		return "", "contains characters that are not allowed in names"
	}
	return part, ""
}

// ModuleAddress returns the address of the module in a repository. Use it in flows that
// process modules in the same way as providers. The repository is a reference such as
// oci://ghcr.io/acme/modules/vpc. The release of a module has one package, whose
// platform is the zero value.
func ModuleAddress(repository string) Address { return Address{Type: repository} }

// IsRegistryModule reports whether the address identifies a module in a module
// registry. module.Address.InRegistry returns such addresses, with the type
// NAME/SYSTEM. If the address of the module is unknown, the type is "/" and the other
// parts are empty.
func (a Address) IsRegistryModule() bool {
	return a.Host != "" && strings.Contains(a.Type, "/") || a.Type == "/"
}

// IsModule reports whether the address was created by [ModuleAddress].
func (a Address) IsModule() bool { return a.Host == "" && a.Type != "" }

// String returns "host/namespace/type" with the host in Unicode, as in lock files and
// filesystem mirrors. For a module, it returns the repository's reference. For the zero
// value, it returns "".
func (a Address) String() string {
	if a.Host == "" {
		return a.Type
	}
	return a.Host.ForDisplay() + "/" + a.Namespace + "/" + a.Type
}

// MarshalText returns the same text as String.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// ASCII returns "host/namespace/type" with the host in Punycode.
func (a Address) ASCII() string {
	return string(a.Host) + "/" + a.Namespace + "/" + a.Type
}

// Compare orders addresses by host, namespace, and type.
func (a Address) Compare(b Address) int {
	return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Type, b.Type))
}
