// Package access controls which callers can read which providers from a server. A file of
// rules grants access to everyone, to static tokens, and to tokens of OpenID Connect
// issuers. The package also signs links to archives, because clients don't send credentials
// with those requests, and limits the request rate of clients.
//
// Errors of this package never contain a token or a key.
package access

import "github.com/tofu-oci/tofu-oci/pkg/provider"

// Errors of [Rules.Identify] and [ArchiveKey.Check]. They are wrapped with the reason,
// which is intended for the log.
var (
	// ErrNoToken is returned if a token is required and there is none.
	ErrNoToken = provider.Errorf(provider.Denied, "a token is required")
	// ErrDenied is returned if the token is unknown, invalid, or expired.
	ErrDenied = provider.Errorf(provider.Denied, "invalid token")
	// ErrUnavailable is returned if the token can't be verified because the keys of its
	// issuer can't be fetched.
	ErrUnavailable = provider.Errorf(provider.Transient, "the token cannot be verified at the moment")
)
