// Package access says who may read which providers from a server, by a file of
// rules: everybody, the bearers of static tokens, and those of the tokens that an
// OpenID Connect issuer gives to jobs. It also signs the addresses of archives, since
// clients send no login with those, and limits the requests of a client.
//
// No error of this package has a token or a key in its text.
package access

import "github.com/tofu-oci/tofu-oci/pkg/provider"

// Conditions of errors; what stands behind them in the text is the reason, for a log.
var (
	// ErrNoToken: nothing may be read without a token, and there is none.
	ErrNoToken = provider.Errorf(provider.Denied, "a token is needed")
	// ErrDenied: the token is not one that counts here, or not any more.
	ErrDenied = provider.Errorf(provider.Denied, "the token is refused")
	// ErrUnavailable: the token's issuer can't be asked for its keys at present, so
	// nothing is known of the token.
	ErrUnavailable = provider.Errorf(provider.Transient, "the token can't be checked at present")
)
