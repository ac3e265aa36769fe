// Package access controls which callers can read which providers from a server. A rules
// file grants access to everyone, to static tokens, and to tokens of OpenID Connect
// issuers. The package also limits the request rate of clients. It signs links to
// archives, because clients download archives without sending credentials.
//
// Errors from this package never contain a token or a key.
package access

import "github.com/tofu-oci/tofu-oci/pkg/provider"

// Errors from [Rules.Identify] and [ArchiveKey.Check]. Returned errors also contain the
// reason, which is intended for the log.
var (
	// ErrNoToken means that a token is required, but the request has no token.
	ErrNoToken = provider.Errorf(provider.Denied, "a token is required")
	// ErrInvalidToken means that the token is unknown, invalid, or expired.
	ErrInvalidToken = provider.Errorf(provider.Denied, "invalid token")
	// ErrUnavailable means that the token can't be verified, because its issuer's keys
	// can't be fetched.
	ErrUnavailable = provider.Errorf(provider.Transient, "the token cannot be verified at the moment")
)
