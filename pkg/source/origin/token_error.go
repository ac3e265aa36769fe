package origin

import (
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrToken says that a registry refuses the token that it was sent. Errors that wrap it
// also wrap the registry's answer, which is a [provider.ErrDenied].
var ErrToken = provider.Errorf(provider.Denied, "the token")

// refused names the token that an answer refuses.
func (s service) refused(err error) error {
	if s.token.Value == "" || !errors.Is(err, provider.ErrDenied) {
		return err
	}
	if s.token.From == "" {
		return fmt.Errorf("%w; %w was sent", err, ErrToken)
	}
	return fmt.Errorf("%w; %w was from %s", err, ErrToken, s.token.From)
}
