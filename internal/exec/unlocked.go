package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// UnlockedError reports that the configuration requires providers that no lock file
// selects, although the command can install only locked providers.
type UnlockedError struct {
	// Dir is the directory of the configuration.
	Dir string
	// Providers lists the required providers.
	Providers []provider.Address
	// Missing lists the required providers that the source doesn't have.
	Missing []provider.Address
}

func (e *UnlockedError) Error() string {
	verb := "is"
	if len(e.Providers) > 1 {
		verb = "are"
	}
	message := fmt.Sprintf("%s %s required by %s but %s %v, and the command can use only locked providers", text.List(text.Strings(e.Providers), "and"), verb, e.Dir, verb, lock.ErrNotLocked)
	if len(e.Missing) > 0 {
		message += "; not in the source: " + strings.Join(text.Strings(e.Missing), ", ")
	}
	return message
}

// Unwrap returns [lock.ErrNotLocked].
func (e *UnlockedError) Unwrap() error { return lock.ErrNotLocked }

// ErrPluginDir is returned if the command would install providers only from directories
// that the user specified with -plugin-dir.
var ErrPluginDir = provider.Errorf(provider.Misuse, "the command would ignore the locked providers because of -plugin-dir")

// keepsOCI reports whether the command uses the user's oci_mirror blocks to install
// providers that no lock file selects. If the configuration requires an unlocked
// provider, and the command can't find the provider or must not install it, the error
// wraps [lock.ErrNotLocked].
func (o Options) keepsOCI(ctx context.Context, c userConfig, program string, wanted []selection) (bool, error) {
	if !o.installs() {
		return false, nil
	}
	found, _ := c.required() // the command also reports the error
	for _, call := range found.Unread {
		if call.IsUnresolved {
			o.Unresolved(call)
		}
	}
	if o.OnlyLocked {
		return false, cmp.Or(o.checkPluginDir(c), o.checkLocked(ctx, c, wanted))
	}
	keeps := c.hasOCI() && toolOf(o.Command) == toolOpenTofu && o.readsOCI(ctx, program)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	var problems []error
	for _, a := range o.unlocked(c, found, wanted) {
		reason := ""
		switch mirrored := c.hasOCIMirror(a); {
		case mirrored && !keeps:
			reason = "only OpenTofu 1.10 and later can install it from the oci_mirror"
		case mirrored && o.MustLock != nil:
			var err error
			if reason, err = o.MustLock(ctx, a); err != nil {
				return false, err
			}
		}
		if reason != "" {
			problems = append(problems, fmt.Errorf("%s is required by %s but is %w, and %s", a, c.dir, lock.ErrNotLocked, reason))
			continue
		}
		o.Left(a, "the provider is not locked; to lock it, run tofu-oci lock")
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

// checkLocked returns an *[UnlockedError] if the configuration requires unlocked
// providers. The command reports errors in the configuration itself, unless only the
// bundle of an offline run contains the modules.
func (o Options) checkLocked(ctx context.Context, c userConfig, wanted []selection) error {
	found, err := c.required()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case o.Offline != nil && err != nil && !errors.Is(err, configuration.ErrNoConfiguration):
		return err
	}
	return o.unlockedError(ctx, c, found, wanted)
}

// explainFailure returns an *[UnlockedError] if init failed because a module that it
// downloaded requires an unlocked provider. The command itself reports other failures.
func (o Options) explainFailure(ctx context.Context, c userConfig, wanted []selection) error {
	if !o.OnlyLocked || !o.reportsEmptyDir() || !o.installs() {
		return nil
	}
	found, err := c.load()
	if err != nil {
		return nil //nolint:nilerr // the command has reported the error
	}
	return o.unlockedError(ctx, c, found, wanted)
}

func (o Options) unlockedError(ctx context.Context, c userConfig, found configuration.Configuration, wanted []selection) error {
	e := &UnlockedError{Dir: c.dir, Providers: o.unlocked(c, found, wanted)}
	if len(e.Providers) == 0 {
		return nil
	}
	for _, a := range e.Providers {
		if _, err := o.Source.Versions(ctx, a); errors.Is(err, provider.ErrProviderNotFound) {
			e.Missing = append(e.Missing, a)
		}
	}
	return e
}

// unlocked returns the providers that the configuration requires, except providers that
// lock files select or dev_overrides replace.
func (o Options) unlocked(c userConfig, found configuration.Configuration, wanted []selection) []provider.Address {
	var all []provider.Address
	for _, r := range found.Required {
		a := r.Address
		selected := slices.ContainsFunc(wanted, func(s selection) bool { return o.isSame(s.Address, a) })
		if _, developed := c.DevOverride(a); !selected && !developed {
			all = append(all, a)
		}
	}
	return all
}

// isSame reports whether a locked provider is the required provider. Programs other
// than OpenTofu and Terraform can run either of them, so Run must not refuse to start
// them because of the default host.
func (o Options) isSame(locked, required provider.Address) bool {
	hosts := []svchost.Hostname{provider.DefaultHost, "registry.terraform.io"}
	if o.OnlyLocked && !o.reportsEmptyDir() && slices.Contains(hosts, locked.Host) && slices.Contains(hosts, required.Host) {
		locked.Host = required.Host
	}
	return locked == required
}

// checkPluginDir returns [ErrPluginDir] if an argument or an environment variable sets
// -plugin-dir, which replaces all installation methods.
func (o Options) checkPluginDir(c userConfig) error {
	set := slices.ContainsFunc(c.initArgs(o.Command[1:]), func(arg string) bool {
		name, _, _ := strings.Cut(strings.Trim(arg, `'"`), "=")
		return name == "-plugin-dir" || name == "--plugin-dir"
	})
	if set {
		return ErrPluginDir
	}
	return nil
}

// ignores reports whether a missing package is ignored because the configuration
// doesn't require its provider. A lock file can contain providers that the
// configuration no longer requires.
func (o Options) ignores(c userConfig, a provider.Address, err error) bool {
	_, noPlatform := errors.AsType[*provider.PlatformError](err)
	missing := noPlatform || errors.Is(err, provider.ErrProviderNotFound) || errors.Is(err, provider.ErrVersionNotFound)
	if !missing || len(o.LockFiles) > 0 {
		return false
	}
	found, err := c.required()
	return err == nil && len(found.Unread) == 0 && !found.Requires(a)
}
