package access

import (
	"fmt"
	"regexp"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// modulePattern matches addresses of modules. It contains the host in ASCII, the
// namespace, the name, and the target system. Trailing parts can be "*".
type modulePattern [4]string

var allModules = modulePattern{"*", "*", "*", "*"}

// modulePartRule matches parts of module addresses. See
// https://opentofu.org/docs/internals/module-registry-protocol/#module-addresses.
var modulePartRule = regexp.MustCompile(`^[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?$`)

// parseModulePattern parses "host/namespace/name/system" or "namespace/name/system",
// which implies [provider.DefaultHost].
func parseModulePattern(text string) (p modulePattern, err error) {
	invalid := func(problem string) (modulePattern, error) {
		return modulePattern{}, fmt.Errorf("invalid module pattern %q: %s", text, problem)
	}
	parts := strings.Split(text, "/")
	if len(parts) == len(p)-1 {
		parts = append([]string{string(provider.DefaultHost)}, parts...)
	}
	if len(parts) != len(p) {
		return invalid("want NAMESPACE/NAME/SYSTEM or HOST/NAMESPACE/NAME/SYSTEM")
	}
	for i, part := range parts {
		switch {
		case part == "*":
		case i > 0 && parts[i-1] == "*":
			return invalid("every part after a * must also be *")
		case i == 0:
			host, err := provider.ParseHost(part)
			if err != nil {
				return invalid("the host must be * or a host name: " + err.Error())
			}
			part = string(host)
		case !modulePartRule.MatchString(part):
			return invalid("the parts must be * or consist of letters, digits, dashes, and underscores")
		}
		p[i] = part
	}
	return p, nil
}

// match reports whether the pattern matches an address.
func (p modulePattern) match(address string) bool {
	parts := strings.Split(address, "/")
	if len(parts) != len(p) {
		return false
	}
	for i, part := range parts {
		if p[i] != "*" && p[i] != part {
			return false
		}
	}
	return true
}

// String returns the four parts, with the host in Unicode.
func (p modulePattern) String() string {
	if p[0] != "*" {
		p[0] = svchost.Hostname(p[0]).ForDisplay()
	}
	return strings.Join(p[:], "/")
}
