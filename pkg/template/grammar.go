package template

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// maxNameLength is the maximum length of a repository name that clients and registries
// support. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests.
const maxNameLength = 255

var (
	// componentRule matches a component of a repository name. See
	// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests.
	componentRule = regexp.MustCompile(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$`)
	// labelRule matches a label of a registry's host name. It allows underscores, which
	// container networks use and OpenTofu accepts.
	labelRule = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?$`)
	// schemeRule matches the scheme of a URL.
	schemeRule = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)
)

// otherLayout matches prefixes that other programs use for image layouts. If a number
// follows the prefix, the number is the port of a registry.
var otherLayout = regexp.MustCompile(`(?i)^(?:ocidir|oci-dir|oci-archive|oci|dir|file|layout|oci-layout):(?:[^0-9]|$)`)

// foreignForm returns a fault if body has the syntax that other programs use for
// repositories and image layouts. body is the text after [layoutPrefix].
func foreignForm(body string, isLayout bool, vars *variables) *fault {
	variable := "{" + vars.names[2] + "}"
	example := "as in " + layoutPrefix + "mirror/" + variable + ", or " + layoutPrefix + "/srv/mirror/" + variable + " for an absolute path"
	found := schemeRule.FindString(body)
	switch isOther := otherLayout.MatchString(body) && !strings.EqualFold(found, "oci://"); {
	case isLayout && strings.HasPrefix(body, "//"):
		return &fault{problem: layoutPrefix + " must be followed by a path without //, " + example}
	case isLayout && (isOther || found != ""):
		return &fault{problem: layoutPrefix + " must be followed by a path, " + example}
	case isLayout:
		return nil
	case isOther:
		return &fault{problem: "an image layout must have the form " + layoutPrefix + "PATH, " + example}
	case found != "":
		return &fault{problem: "must not contain a scheme; remove " + found}
	}
	return nil
}

// parseRepository parses "host/name" according to the OCI distribution specification.
// As in OpenTofu, the first component is always the registry, even without a dot. The
// address is used to explain invalid components unless it is the zero value.
func parseRepository(s string, a subject) (Reference, *fault) {
	if scheme := schemeRule.FindString(s); scheme != "" {
		return Reference{}, &fault{component: scheme, problem: "must not contain a scheme; remove " + scheme}
	}
	if text.RedactUserinfo(s) != s {
		return Reference{}, &fault{problem: "must not contain credentials; log in to the registry instead"}
	}
	// The result of a template could start with the prefix, but such a reference would
	// not round-trip.
	if strings.HasPrefix(s, layoutPrefix) {
		return Reference{}, &fault{component: layoutPrefix, problem: layoutPrefix + " must be the start of the template"}
	}
	registry, name, found := strings.Cut(s, "/")
	if !found {
		return Reference{}, &fault{component: s, problem: "must be a registry host, a slash, and a repository name"}
	}
	if problem := checkRegistry(registry); problem != "" {
		return Reference{}, &fault{component: registry, problem: problem}
	}
	at := len(registry) + 1
	for component := range strings.SplitSeq(name, "/") {
		if problem := checkComponent(component, a); problem != "" {
			return Reference{}, &fault{at: at, component: component, problem: problem}
		}
		at += len(component) + 1
	}
	if len(name) > maxNameLength {
		return Reference{}, &fault{
			at: len(registry) + 1, component: name,
			problem: fmt.Sprintf("repository name is %d characters long; the maximum is %d", len(name), maxNameLength),
		}
	}
	return Reference{Registry: registry, Name: name}, nil
}

// checkRegistry checks "host" or "host:port". If registry is valid, problem is empty.
func checkRegistry(registry string) (problem string) {
	switch registry {
	case "":
		return "missing registry host; write a directory as " + layoutPrefix + "PATH"
	case ".", "..", "~":
		return "not a registry host; write a directory as " + layoutPrefix + "PATH"
	}
	host, port, hasPort := registry, "", false
	if i := strings.LastIndexByte(registry, ':'); i > strings.LastIndexByte(registry, ']') {
		host, port, hasPort = registry[:i], registry[i+1:], true
	}
	if hasPort {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Sprintf("invalid registry port %q: want a number from 1 to 65535", port)
		}
	}
	return checkHost(host)
}

// checkHost checks a DNS name, an IPv4 address, or an IPv6 address in brackets.
func checkHost(host string) (problem string) {
	if inner, found := strings.CutPrefix(host, "["); found {
		inner, found = strings.CutSuffix(inner, "]")
		if ip, err := netip.ParseAddr(inner); !found || err != nil || !ip.Is6() || ip.Zone() != "" {
			return fmt.Sprintf("invalid registry host %q: want an IPv6 address in brackets", host)
		}
		return ""
	}
	if strings.ContainsFunc(host, isNonASCII) {
		return fmt.Sprintf("registry host %q contains non-ASCII characters; write it in Punycode", host)
	}
	for label := range strings.SplitSeq(host, ".") {
		if !labelRule.MatchString(label) {
			return fmt.Sprintf("invalid registry host %q", host)
		}
	}
	return ""
}

// checkComponent checks a component of a repository name and returns the most specific
// problem.
func checkComponent(c string, a subject) (problem string) {
	host := a.values["hostname"]
	hasPort := strings.Contains(host, ":")
	switch {
	case c == "":
		return "repository names must not contain consecutive slashes or end with a slash"
	case hasPort && strings.Contains(c, host):
		return fmt.Sprintf("the %s's hostname %s has a port, but repository names must not contain colons", a.noun, host)
	case strings.Contains(c, "@"):
		return "repository names must not contain @; omit the digest"
	case strings.Contains(c, ":"):
		return "repository names must not contain colons; omit the tag, which is the version"
	case strings.ContainsFunc(c, isNonASCII):
		return letterProblem(c, a)
	case strings.ContainsFunc(c, unicode.IsUpper):
		return "repository names must not contain upper-case letters"
	case !componentRule.MatchString(c):
		return "the parts of a repository name must consist of lower-case letters and digits, with single separators between them: a dot, one or two underscores, or dashes"
	}
	return ""
}

// letterProblem returns the problem with non-ASCII characters. If the characters come
// from the address instead of the template, the problem names the address, because
// changing the template doesn't help.
func letterProblem(c string, a subject) string {
	for _, name := range []string{"namespace", "type"} {
		if value := a.values[name]; strings.ContainsFunc(value, isNonASCII) && strings.Contains(c, value) {
			return fmt.Sprintf("the %s's %s %q contains non-ASCII characters, which are not allowed in repository names", a.noun, name, value)
		}
	}
	return "repository names must not contain non-ASCII characters"
}

func isNonASCII(r rune) bool { return r >= utf8.RuneSelf }
