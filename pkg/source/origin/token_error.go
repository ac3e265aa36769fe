package origin

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrToken is wrapped by errors from requests whose token the registry rejected. These
// errors also wrap [provider.ErrDenied].
var ErrToken = provider.Errorf(provider.Denied, "the registry rejected the token")

// Authorize adds the token to the headers of a request, unless the token is missing.
func (t Token) Authorize(h http.Header) {
	if t.Value != "" {
		h.Set("Authorization", "Bearer "+t.Value)
	}
}

// Refused adds [ErrToken] to the error from a request that contained the token, if the
// server denied access.
func (t Token) Refused(err error) error {
	if t.Value == "" || !errors.Is(err, provider.ErrDenied) {
		return err
	}
	if t.From == "" {
		return fmt.Errorf("%w; %w", err, ErrToken)
	}
	return fmt.Errorf("%w; %w from %s", err, ErrToken, t.From)
}
