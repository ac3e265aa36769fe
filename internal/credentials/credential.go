package credentials

import "github.com/tofu-oci/tofu-oci/internal/text"

// Credential contains the credentials for a registry. The zero value is anonymous.
type Credential struct {
	Username string
	Password text.Secret
	// IdentityToken is an OAuth 2.0 refresh token. A token service exchanges it for
	// access tokens (https://distribution.github.io/distribution/spec/auth/oauth/).
	IdentityToken text.Secret
	// RegistryToken is an access token. It is sent to the registry unchanged.
	RegistryToken text.Secret
}

// IsAnonymous reports whether the credentials are empty.
func (c Credential) IsAnonymous() bool { return c == Credential{} }

// hasSecret reports whether the credentials contain a secret. If the secret is stored
// elsewhere, docker login writes only a user name.
func (c Credential) hasSecret() bool {
	return !c.Password.IsEmpty() || !c.IdentityToken.IsEmpty() || !c.RegistryToken.IsEmpty()
}
