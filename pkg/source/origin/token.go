package origin

import (
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
)

const tokenPrefix = "TF_TOKEN_"

// Token is a bearer token, the zero value none.
type Token struct {
	Value string
	// From says where it comes from, for the error of a registry that refuses it; may
	// be empty.
	From string
}

// TokenFromEnv returns the tokens that an environment (as of os.Environ) has in
// variables TF_TOKEN_<host>. In the host, a dot may be written "_" and a hyphen
// "__"; it may be in Unicode or in Punycode. Of several variables for one host
// the last counts. A host with a port can't be written.
// https://opentofu.org/docs/cli/config/config-file/#environment-variable-credentials
func TokenFromEnv(environ []string) func(svchost.Hostname) string {
	tokens := map[svchost.Hostname]string{}
	for _, variable := range environ {
		name, token, _ := strings.Cut(variable, "=")
		encoded, isToken := strings.CutPrefix(name, tokenPrefix)
		if !isToken {
			continue
		}
		// Pairs first: what is left of underscores stands for dots.
		host := strings.ReplaceAll(encoded, "__", "-")
		host = strings.ReplaceAll(host, "_", ".")
		// By way of the Unicode form, because ForComparison refuses Punycode.
		h, err := svchost.ForComparison(svchost.ForDisplay(host))
		if err == nil {
			tokens[h] = token
		}
	}
	return func(h svchost.Hostname) string { return tokens[h] }
}
