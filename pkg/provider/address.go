package provider

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	tfaddr "github.com/hashicorp/terraform-registry-address"
	svchost "github.com/hashicorp/terraform-svchost"
)

// DefaultHost is the origin registry of an address that names none: OpenTofu's
// own, whichever default the address library has.
const DefaultHost = svchost.Hostname("registry.opentofu.org")

// Address identifies a provider: host, namespace and type, normalized, so that
// two addresses of the same provider are equal by ==. Only [ParseAddress] makes
// one; the zero value is no address.
type Address struct {
	// Host is the origin registry in comparison form: Punycode, lower case, with
	// ":port" when it has one.
	Host svchost.Hostname
	// Namespace and Type are lower-case DNS labels, possibly with letters
	// beyond ASCII.
	Namespace, Type string
}

// ParseAddress reads "namespace/type" or "host/namespace/type" and refuses what
// OpenTofu refuses, also where the address library lets it through: one-part
// and legacy names, built-in providers, underscores. Errors are *[SyntaxError].
func ParseAddress(s string) (Address, error) {
	fail := func(offset int, problem string) (Address, error) {
		return Address{}, &SyntaxError{What: "provider address", Input: s, Offset: offset, Problem: problem}
	}
	if offset, problem := mistaken(s); problem != "" {
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
			return fail(0, "the host is not a valid host name: "+err.Error())
		}
		offset = len(parts[0]) + 1
		parts = parts[1:]
	}
	namespace, problem := parsePart(parts[0])
	if problem != "" {
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
		return fail(0, "built-in providers are part of OpenTofu and not installed from anywhere")
	}
	return Address{Host: host, Namespace: namespace, Type: typ}, nil
}

// ParseHost reads "host" or "host:port" as people write it, in Unicode, and
// gives the comparison form. It refuses what the library takes but cannot
// display without a panic, such as bytes that are no UTF-8.
func ParseHost(s string) (svchost.Hostname, error) {
	host, err := svchost.ForComparison(s)
	if err != nil {
		return "", err
	}
	if again, err := svchost.ForComparison(svchost.ForDisplay(string(host))); err != nil || again != host {
		return "", errors.New("it has characters that are not allowed in host names")
	}
	return host, nil
}

// parsePart normalizes a namespace or type; problem says what is wrong with it.
func parsePart(s string) (part, problem string) {
	switch s {
	case "":
		return "", "is empty"
	case tfaddr.LegacyProviderNamespace, tfaddr.UnknownProviderNamespace:
		return "", "\"" + s + "\" is a placeholder of old configurations, not a name"
	}
	part, err := tfaddr.ParseProviderPart(s)
	if err != nil {
		return "", "is not valid: " + err.Error()
	}
	// The library looks for dots and dashes before it folds: U+3002 becomes a
	// dot after that, and a soft hyphen nothing at all.
	if again, err := tfaddr.ParseProviderPart(part); err != nil || again != part {
		return "", "has characters that are not allowed in names"
	}
	return part, ""
}

// String returns "host/namespace/type" with the host as people write it (in
// Unicode), which is also how lock files and file-system mirrors name it.
// It is empty for the zero value.
func (a Address) String() string {
	if a == (Address{}) {
		return ""
	}
	return a.Host.ForDisplay() + "/" + a.Namespace + "/" + a.Type
}

// MarshalText returns the text of String.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// ASCII returns "host/namespace/type" with the host in Punycode.
func (a Address) ASCII() string {
	return string(a.Host) + "/" + a.Namespace + "/" + a.Type
}

// Compare orders addresses by host, namespace and type.
func (a Address) Compare(b Address) int {
	return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Type, b.Type))
}
