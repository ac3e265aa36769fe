package origin

import (
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
)

const tokenPrefix = "TF_TOKEN_"

// Token is a bearer token. The zero value means that there is no token.
type Token struct {
	Value string
	// From is the origin of the token, for error messages of registries that reject it. It can be
	// empty.
	From string
}

// TokenFromEnv returns a lookup function for the tokens in variables TF_TOKEN_<host> of an
// environment, which has the format of os.Environ. In the host, "_" represents a dot and "__" a
// hyphen; it can be written in Unicode or Punycode. If several variables specify the same host, the
// last one wins. A host with a port can't be specified.
// https://opentofu.org/docs/cli/config/config-file/#environment-variable-credentials
func TokenFromEnv(environ []string) func(svchost.Hostname) string {
	tokens := map[svchost.Hostname]string{}
	for _, variable := range environ {
		name, token, _ := strings.Cut(variable, "=")
		encoded, isToken := strings.CutPrefix(name, tokenPrefix)
		if !isToken {
			continue
		}
		// Replace pairs first: the remaining underscores represent dots.
		host := strings.ReplaceAll(encoded, "__", "-")
		host = strings.ReplaceAll(host, "_", ".")
		// Convert to Unicode first, because ForComparison rejects Punycode.
		h, err := svchost.ForComparison(svchost.ForDisplay(host))
		if err == nil {
			tokens[h] = token
		}
	}
	return func(h svchost.Hostname) string { return tokens[h] }
}
