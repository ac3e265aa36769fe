package provider

import (
	"fmt"
	"regexp"
	"strings"
)

// scheme matches the scheme of a URL.
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// diagnoseAddress detects common mistakes in addresses. If it detects none, problem is
// empty.
func diagnoseAddress(s string) (offset int, problem string) {
	if found := scheme.FindString(s); found != "" {
		return 0, "must not contain a scheme; remove " + found
	}
	slash := strings.LastIndexByte(s, '/')
	if i := strings.LastIndexByte(s, '@'); i > slash && slash >= 0 {
		return i, "must be an address without a version"
	}
	name, version, tagged := strings.Cut(s[slash+1:], ":")
	if tagged && slash > 0 {
		return slash + 1 + len(name), fmt.Sprintf("specify the version after an @: %s@%s", s[:slash+1]+name, version)
	}
	_, err := ParseVersion(s[slash+1:])
	switch {
	case slash < 0 && err == nil && s != "":
		return 0, "is a version; specify it after the address, as in hashicorp/null@" + s
	case slash < 0 && s != "":
		if part, problem := parsePart(s); problem == "" {
			return 0, "must be NAMESPACE/TYPE or HOST/NAMESPACE/TYPE, such as hashicorp/" + part
		}
	case err == nil && strings.Count(s, "/") == 2 && strings.Contains(s[slash+1:], "."):
		return slash, fmt.Sprintf("specify the version after an @: %s@%s", s[:slash], s[slash+1:])
	case strings.Count(s, "/") == 1 && strings.Contains(s[:slash], "."):
		return slash, fmt.Sprintf("the namespace after the host %s is missing; must be HOST/NAMESPACE/TYPE", s[:slash])
	}
	return 0, ""
}

var (
	// wildcards matches versions that end in a wildcard, with or without an operator.
	wildcards = regexp.MustCompile(`^[<>=!~ ]*([0-9]+(?:\.[0-9]+)*)\.[xX*]`)
	// prefixed matches versions that start with "v", as many tags do.
	prefixed = regexp.MustCompile(`^[<>=!~ ]*[vV]([0-9].*)$`)
	// word matches a letter where a number is expected.
	word = regexp.MustCompile(`^[<>=!~ ]*[A-Za-z]`)
)

// constraintProblem explains why a constraint that the library rejects is invalid. If
// it detects no common mistake, it returns the text of err.
func constraintProblem(text string, err error) string {
	if found := wildcards.FindStringSubmatch(text); found != nil {
		return fmt.Sprintf("wildcards are not supported; to match all %s.x versions, use ~> %[1]s.0", found[1])
	}
	if found := prefixed.FindStringSubmatch(text); found != nil {
		return "a version must not start with v; use " + found[1]
	}
	if word.MatchString(text) {
		return "must be a version or a comparison, such as 5.64.0, ~> 5.0, or >= 5.0"
	}
	return err.Error()
}
