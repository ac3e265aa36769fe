package provider

import (
	"fmt"
	"regexp"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
)

// ModulePattern matches addresses of modules. It contains the host in ASCII, the
// namespace, the name, and the target system. Trailing parts can be "*". Patterns are
// comparable using ==. The zero value matches nothing.
type ModulePattern [4]string

// modulePartRule matches parts of module addresses. See
// https://opentofu.org/docs/internals/module-registry-protocol/#module-addresses.
var modulePartRule = regexp.MustCompile(`^[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?$`)

// ParseModulePattern parses "host/namespace/name/system" or "namespace/name/system",
// which implies [DefaultHost]. Trailing parts can be "*".
func ParseModulePattern(text string) (p ModulePattern, err error) {
	invalid := func(problem string) (ModulePattern, error) {
		return ModulePattern{}, fmt.Errorf("invalid module pattern %q: %s", text, problem)
	}
	parts := strings.Split(text, "/")
	if len(parts) == len(p)-1 {
		parts = append([]string{string(DefaultHost)}, parts...)
	}
	if len(parts) != len(p) {
		return invalid("want NAMESPACE/NAME/SYSTEM or HOST/NAMESPACE/NAME/SYSTEM")
	}
	for i, part := range parts {
		switch {
		case part == wildcard:
		case i > 0 && parts[i-1] == wildcard:
			return invalid("every part after a * must also be *")
		case i == 0:
			host, err := ParseHost(part)
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

// Match reports whether the pattern matches "host/namespace/name/system" with the host
// in ASCII.
func (p ModulePattern) Match(address string) bool {
	parts := strings.Split(address, "/")
	if len(parts) != len(p) {
		return false
	}
	for i, part := range parts {
		if p[i] != wildcard && p[i] != part {
			return false
		}
	}
	return true
}

// Specificity returns the number of parts that are not wildcards, from 0 to 4.
func (p ModulePattern) Specificity() (n int) {
	for _, part := range p {
		if part != wildcard {
			n++
		}
	}
	return n
}

// String returns the four parts, with the host in Unicode. It returns "" for the zero
// value.
func (p ModulePattern) String() string {
	if p == (ModulePattern{}) {
		return ""
	}
	if p[0] != wildcard {
		p[0] = svchost.Hostname(p[0]).ForDisplay()
	}
	return strings.Join(p[:], "/")
}
