package origin

import (
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrToken is wrapped by errors of requests whose token the registry rejected. These
// errors also wrap [provider.ErrDenied].
var ErrToken = provider.Errorf(provider.Denied, "the registry rejected the token")

// refused adds the rejected token to an error.
func (s service) refused(err error) error {
	if s.token.Value == "" || !errors.Is(err, provider.ErrDenied) {
		return err
	}
	if s.token.From == "" {
		return fmt.Errorf("%w; %w", err, ErrToken)
	}
	return fmt.Errorf("%w; %w from %s", err, ErrToken, s.token.From)
}
