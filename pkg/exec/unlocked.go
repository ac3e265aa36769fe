package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// keepsOCI reports whether the command uses the user's oci_mirror blocks to install
// providers that no lock file selects. If the configuration requires an unlocked
// provider, and the command can't find the provider or must not install it, the error
// wraps [lock.ErrNotLocked].
func (o Options) keepsOCI(ctx context.Context, c userConfig, program string, wanted []selection) (bool, error) {
	if !o.installs() {
		return false, nil
	}
	keeps := !o.OnlyLocked && c.hasOCI() && toolOf(o.Command) == toolOpenTofu && o.readsOCI(ctx, program)
	unlocked, err := o.unlocked(ctx, c, wanted)
	if err != nil {
		return false, err
	}
	var problems []error
	for _, a := range unlocked {
		reason := ""
		switch mirrored := c.hasOCIMirror(a); {
		case o.Sealed != nil:
			reason = "the command can use only locked providers"
		case o.OnlyLocked:
			reason = "the command would install it without the required checks"
		case mirrored && !keeps:
			reason = "only OpenTofu 1.10 and later can install it from the oci_mirror"
		case mirrored && o.Approves != nil:
			approves, err := o.Approves(ctx, a)
			if err != nil {
				return false, err
			}
			if approves {
				reason = "its releases require approval, which OpenTofu does not check"
			}
		}
		if reason != "" {
			problems = append(problems, fmt.Errorf("%s is required by %s but is %w, and %s", a, c.dir, lock.ErrNotLocked, reason))
			continue
		}
		o.Left(a, "it is not in the lock file; tofu-oci lock adds it")
	}
	return keeps, errors.Join(problems...)
}

// installs reports whether the command might install providers. For OpenTofu and
// Terraform, only the subcommand init installs providers.
func (o Options) installs() bool {
	if !o.reportsEmptyDir() {
		return true
	}
	args := o.Command[1:]
	i := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	return i >= 0 && args[i] == "init"
}

// unlocked returns the providers that the configuration in the command's directory
// requires, except providers that lock files select or dev_overrides replace. It
// returns errors in the configuration only if OnlyLocked is set, because the command
// also reports them.
func (o Options) unlocked(ctx context.Context, c userConfig, wanted []selection) ([]provider.Address, error) {
	found, err := c.required()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if o.OnlyLocked && err != nil && !errors.Is(err, configuration.ErrNoConfiguration) {
		return nil, err
	}
	for _, call := range found.Unread {
		if call.IsUnresolved {
			o.Unresolved(call)
		}
	}
	var all []provider.Address
	for _, r := range found.Required {
		a := r.Address
		selected := slices.ContainsFunc(wanted, func(s selection) bool { return s.Address == a })
		if _, developed := c.DevOverride(a); !selected && !developed {
			all = append(all, a)
		}
	}
	return all, nil
}

// ignores reports whether a missing package is ignored because the configuration
// doesn't require its provider. A lock file can contain providers that the
// configuration no longer requires. The state can still require the provider, so the
// package isn't ignored if the command could install it without the required checks.
func (o Options) ignores(c userConfig, a provider.Address, err error) bool {
	_, noPlatform := errors.AsType[*provider.PlatformError](err)
	missing := noPlatform || errors.Is(err, provider.ErrProviderNotFound) || errors.Is(err, provider.ErrVersionNotFound)
	if !missing || len(o.LockFiles) > 0 || o.OnlyLocked && o.installs() {
		return false
	}
	found, err := c.required()
	return err == nil && len(found.Unread) == 0 && !found.Requires(a)
}
