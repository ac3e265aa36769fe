package credentials

import "github.com/tofu-oci/tofu-oci/internal/text"

// Credential is a login to a registry. The zero value is anonymous.
type Credential struct {
	Username string
	Password text.Secret
	// IdentityToken is an OAuth2 refresh token: the token server gives access
	// tokens for it (https://distribution.github.io/distribution/spec/auth/oauth/).
	IdentityToken text.Secret
	// RegistryToken is an access token, sent to the registry as it is.
	RegistryToken text.Secret
}

// IsAnonymous reports whether there is nothing to log in with.
func (c Credential) IsAnonymous() bool { return c == Credential{} }

// logsIn reports whether there is a secret. A name alone is what "docker login"
// leaves behind when the secret is elsewhere.
func (c Credential) hasSecret() bool {
	return !c.Password.IsEmpty() || !c.IdentityToken.IsEmpty() || !c.RegistryToken.IsEmpty()
}
