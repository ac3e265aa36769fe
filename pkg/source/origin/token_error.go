package origin

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrToken is wrapped by errors from requests whose token the registry rejected. These
// errors also wrap [provider.ErrForbidden].
var ErrToken = provider.Errorf(provider.Denied, "the registry rejected the token")

// ErrNoToken is wrapped by errors from requests that were denied because no token is
// configured. These errors also wrap [provider.ErrForbidden]. Clients never send a
// token when they request checksums, signatures, and archives, so errors from such
// requests don't wrap ErrNoToken.
var ErrNoToken = provider.Errorf(provider.Denied, "the registry requires a token")

// noTokenError adds [ErrNoToken] to an error without changing its message.
type noTokenError struct{ error }

func (e noTokenError) Unwrap() []error { return []error{e.error, ErrNoToken} }

// Authorize adds the token to the headers of a request, unless the token is missing.
func (t Token) Authorize(h http.Header) {
	if t.Value != "" {
		h.Set("Authorization", "Bearer "+t.Value)
	}
}

// Refused adds [ErrToken] to the error from a request if the server denied access. If
// the token is missing, Refused adds [ErrNoToken] instead. Use it only for requests
// that would contain the token.
func (t Token) Refused(err error) error {
	switch {
	case !errors.Is(err, provider.ErrForbidden):
		return err
	case t.Value == "":
		return noTokenError{err}
	}
	if t.From == "" {
		return fmt.Errorf("%w; %w", err, ErrToken)
	}
	return fmt.Errorf("%w; %w from %s", err, ErrToken, t.From)
}
