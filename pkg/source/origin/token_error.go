package origin

import (
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TokenError says that a registry refuses the token that it was sent. Without a token
// there is none of these.
type TokenError struct {
	// From is where the token comes from, as [Token] has it; may be empty.
	From string
	Err  error
}

func (e *TokenError) Error() string {
	if e.From == "" {
		return fmt.Sprintf("%v; a token was sent", e.Err)
	}
	return fmt.Sprintf("%v; the token was from %s", e.Err, e.From)
}

// Unwrap gives the registry's answer, which is a [provider.ErrDenied].
func (e *TokenError) Unwrap() error { return e.Err }

// refused names the token that an answer refuses.
func (s service) refused(err error) error {
	if s.token.Value == "" || !errors.Is(err, provider.ErrDenied) {
		return err
	}
	return &TokenError{From: s.token.From, Err: err}
}
