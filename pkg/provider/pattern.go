package provider

import (
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
)

// wildcard matches any value of a part and of all following parts.
const wildcard = "*"

// Pattern matches addresses in the same way as the include and exclude lists of
// OpenTofu's provider_installation blocks. It is an address in which trailing parts can
// be "*". Patterns are comparable using ==. The zero value matches nothing.
type Pattern struct {
	host, namespace, typ string
}

// ParsePattern parses "host/namespace/type" or "namespace/type", which implies
// [DefaultHost]. Trailing parts can be "*". Errors are of type *[SyntaxError].
func ParsePattern(s string) (Pattern, error) {
	fail := func(offset int, problem string) (Pattern, error) {
		return Pattern{}, &SyntaxError{What: "provider pattern", Input: s, Offset: offset, Problem: problem}
	}
	parts := strings.Split(s, "/")
	if len(parts) != 2 && len(parts) != 3 {
		return fail(0, "must be NAMESPACE/TYPE or HOST/NAMESPACE/TYPE")
	}
	p := Pattern{host: string(DefaultHost)}
	offset := 0
	if len(parts) == 3 {
		p.host = parts[0]
		if p.host != wildcard {
			host, err := ParseHost(p.host)
			if err != nil {
				return fail(0, "the host must be * or a host name: "+err.Error())
			}
			p.host = string(host)
		}
		offset = len(parts[0]) + 1
		parts = parts[1:]
	}
	for i, part := range []struct {
		name string
		into *string
	}{{"namespace", &p.namespace}, {"type", &p.typ}} {
		*part.into = parts[i]
		if parts[i] != wildcard {
			normal, problem := parsePart(parts[i])
			if problem != "" {
				return fail(offset, "the "+part.name+" "+problem)
			}
			*part.into = normal
		}
		offset += len(parts[i]) + 1
	}
	if p.host == wildcard && (p.namespace != wildcard || p.typ != wildcard) ||
		p.namespace == wildcard && p.typ != wildcard {
		return fail(0, "every part after a * must also be *")
	}
	return p, nil
}

// Match reports whether the pattern matches a.
func (p Pattern) Match(a Address) bool {
	return p.host != "" &&
		(p.host == wildcard || p.host == string(a.Host)) &&
		(p.namespace == wildcard || p.namespace == a.Namespace) &&
		(p.typ == wildcard || p.typ == a.Type)
}

// Specificity returns the number of parts that are not wildcards, from 0 to 3.
func (p Pattern) Specificity() (n int) {
	for _, part := range []string{p.host, p.namespace, p.typ} {
		if part != wildcard {
			n++
		}
	}
	return n
}

// String returns the three parts, with the host in Unicode. It returns "" for the zero
// value.
func (p Pattern) String() string {
	if p == (Pattern{}) {
		return ""
	}
	host := p.host
	if host != wildcard {
		host = svchost.Hostname(host).ForDisplay()
	}
	return host + "/" + p.namespace + "/" + p.typ
}
