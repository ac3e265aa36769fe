package exec

import (
	"context"
	"errors"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ignores reports whether a missing package is ignored because the configuration doesn't
// require its provider: a lock file can contain providers that are no longer required. The
// state can still require the provider, so the error is returned if the command could
// install it without the required checks.
func (o Options) ignores(ctx context.Context, c userConfig, a provider.Address, err error) bool {
	_, noPlatform := errors.AsType[*provider.PlatformError](err)
	missing := noPlatform || errors.Is(err, provider.ErrProviderNotFound) || errors.Is(err, provider.ErrVersionNotFound)
	if !missing || len(o.LockFiles) > 0 || o.OnlyLocked && o.installs() {
		return false
	}
	found, err := configuration.Load(ctx, c.dir, o.Reading(c.env.Terraform))
	return err == nil && len(found.NotLookedAt) == 0 && !found.Requires(a)
}
