package provider

import (
	"fmt"
	"regexp"
	"strings"
)

// scheme is how URLs start.
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// mistaken knows what people write in the place of an address, and says where it
// goes wrong. It looks only at what is no address; problem is empty for the rest.
func mistaken(s string) (offset int, problem string) {
	if found := scheme.FindString(s); found != "" {
		return 0, "an address has no scheme; leave " + found + " out"
	}
	slash := strings.LastIndexByte(s, '/')
	if at := strings.LastIndexByte(s, '@'); at > slash && slash >= 0 {
		return at, "an address is meant, without a version"
	}
	name, version, tagged := strings.Cut(s[slash+1:], ":")
	if tagged && slash > 0 {
		return slash + 1 + len(name), fmt.Sprintf("a version stands behind an @: %s@%s", s[:slash+1]+name, version)
	}
	_, err := ParseVersion(s[slash+1:])
	switch {
	case slash < 0 && err == nil && s != "":
		return 0, "is a version, which stands behind the address and an @, as in hashicorp/null@" + s
	case slash < 0 && s != "":
		if part, problem := parsePart(s); problem == "" {
			return 0, "must be NAMESPACE/TYPE or HOST/NAMESPACE/TYPE, as hashicorp/" + part + " is"
		}
	case err == nil && strings.Count(s, "/") == 2 && strings.Contains(s[slash+1:], "."):
		return slash, fmt.Sprintf("a version stands behind an @: %s@%s", s[:slash], s[slash+1:])
	case strings.Count(s, "/") == 1 && strings.Contains(s[:slash], "."):
		return slash, fmt.Sprintf("the namespace is missing, since %s is a host: must be HOST/NAMESPACE/TYPE", s[:slash])
	}
	return 0, ""
}

var (
	// wildcards are versions that end in one, behind a comparison or alone.
	wildcards = regexp.MustCompile(`^[<>=!~ ]*([0-9]+(?:\.[0-9]+)*)\.[xX*]`)
	// prefixed is a version with the v of a tag.
	prefixed = regexp.MustCompile(`^[<>=!~ ]*[vV]([0-9].*)$`)
	// word is a letter where a number belongs.
	word = regexp.MustCompile(`^[<>=!~ ]*[A-Za-z]`)
)

// constraintProblem says what is wrong with a constraint that the library refuses,
// whose own words are those for a parser.
func constraintProblem(text string, err error) string {
	if found := wildcards.FindStringSubmatch(text); found != nil {
		return fmt.Sprintf("constraints have no wildcards; all of %s is ~> %[1]s.0", found[1])
	}
	if found := prefixed.FindStringSubmatch(text); found != nil {
		return "a version has no v in front: " + found[1]
	}
	if word.MatchString(text) {
		return "must be a version or compare with one: 5.64.0, ~> 5.0, >= 5.0"
	}
	return err.Error()
}
