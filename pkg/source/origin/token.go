package origin

import (
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
)

const tokenPrefix = "TF_TOKEN_"

// Token is a bearer token. The zero value represents a missing token.
type Token struct {
	Value string
	// From is the source of the token. It is used in error messages if a registry
	// rejects the token. It can be empty.
	From string
}

// TokenFromEnv returns a function that looks up tokens in the TF_TOKEN_<host> variables
// of an environment. environ has the format of os.Environ. In the host, "_" represents
// a dot, and "__" represents a hyphen. The host can be in Unicode or Punycode. If
// several variables specify the same host, the last variable takes precedence. Hosts
// with a port are not supported. See
// https://opentofu.org/docs/cli/config/config-file/#environment-variable-credentials.
func TokenFromEnv(environ []string) func(svchost.Hostname) string {
	tokens := map[svchost.Hostname]string{}
	for _, variable := range environ {
		name, token, _ := strings.Cut(variable, "=")
		encoded, isToken := strings.CutPrefix(name, tokenPrefix)
		if !isToken {
			continue
		}
		// Replace double underscores first, because the remaining underscores represent
		// dots.
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
