package installation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Versions returns the versions from all matching methods. It returns
// *[UnresolvedError], [ErrNotSupported], or the error that ended the search.
func (i *Installation) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	methods, err := i.candidates(ctx, a)
	if err != nil {
		return nil, err
	}
	unresolved := &UnresolvedError{Address: a}
	var all []provider.Version
	for _, m := range methods {
		versions, err := m.source.Versions(ctx, a)
		switch {
		case errors.Is(err, provider.ErrProviderNotFound):
			unresolved.attempts = append(unresolved.attempts, attempt{m.Method, err})
		case err != nil:
			return nil, m.failed(err)
		default:
			all = append(all, versions...)
		}
	}
	if len(all) == 0 && len(unresolved.attempts) == len(methods) {
		return nil, unresolved
	}
	return provider.NewestFirst(all), nil
}

// Release returns version v of provider a. For each platform, the package comes from
// the first method that has the platform. If packages come from several methods, each
// method's documents are attached to its packages. If no platforms are given, Release
// returns the release from the first method that has the version. It returns the same
// errors as Versions.
func (i *Installation) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	methods, err := i.candidates(ctx, a)
	if err != nil {
		return provider.Release{}, err
	}
	unresolved := &UnresolvedError{Address: a, Version: v}
	wanted := provider.SortPlatforms(only)
	var parts []provider.Release
	for _, m := range methods {
		part, err := m.release(ctx, a, v, wanted)
		if err != nil {
			if !m.passedOver(err) {
				return provider.Release{}, m.failed(err)
			}
			unresolved.attempts = append(unresolved.attempts, attempt{m.Method, err})
		}
		if len(part.Packages) == 0 {
			continue
		}
		parts = append(parts, m.located(part))
		wanted = slices.DeleteFunc(wanted, func(p provider.Platform) bool { return slices.Contains(part.Platforms(), p) })
		if len(wanted) == 0 {
			return merged(parts), nil
		}
	}
	return provider.Release{}, unresolved.about(wanted, parts)
}

// candidates returns the methods that match a provider, in order.
func (i *Installation) candidates(ctx context.Context, a provider.Address) ([]*method, error) {
	if i.block != nil {
		if override, found := i.block.DevOverrides[a]; found {
			return nil, notSupported(a, overridden(override))
		}
	}
	var methods []*method
	for _, m := range i.methods {
		ok, _ := m.Match(a)
		if ok {
			var err error
			if ok, err = m.left(ctx, a); err != nil {
				return nil, err
			}
		}
		if ok {
			methods = append(methods, m)
		}
	}
	return methods, nil
}

// left reports whether no source in unless has the provider.
func (m *method) left(ctx context.Context, a provider.Address) (bool, error) {
	for _, src := range m.unless {
		_, err := src.Versions(ctx, a)
		if err == nil {
			return false, nil
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		// Other problems are reported when the directory is used.
	}
	return true, nil
}

// release returns a method's release for the given platforms. If no platforms are
// given, the release has all platforms. If the method lacks some platforms, release
// returns the available platforms and a *[provider.PlatformError].
func (m *method) release(ctx context.Context, a provider.Address, v provider.Version, wanted []provider.Platform) (provider.Release, error) {
	r, err := m.source.Release(ctx, a, v, wanted...)
	var missing, still *provider.PlatformError
	if !errors.As(err, &missing) {
		return r, err
	}
	has := slices.DeleteFunc(slices.Clone(wanted), func(p provider.Platform) bool { return !slices.Contains(missing.Have, p) })
	if len(has) == 0 || len(has) == len(wanted) {
		return provider.Release{}, err
	}
	// A registry can list a platform without a package, so the next request can fail
	// for a different platform. Each request is for fewer platforms than the previous
	// request.
	r, again := m.release(ctx, a, v, has)
	if again != nil && !errors.As(again, &still) {
		return provider.Release{}, again
	}
	return r, err
}

// passedOver reports whether OpenTofu continues with the next method after err. The
// search ends after responses with status 401 or 403. It also ends if an oci_mirror's
// registry reports that a tag or repository doesn't exist.
func (m *method) passedOver(err error) bool {
	var missing *provider.PlatformError
	if errors.As(err, &missing) {
		return true
	}
	absent := errors.Is(err, provider.ErrVersionNotFound) || errors.Is(err, provider.ErrProviderNotFound)
	return absent && (m.Kind == cliconfig.Direct || m.Kind == cliconfig.FilesystemMirror)
}

// failed adds the method that ended the search to the error.
func (m *method) failed(err error) error {
	if errors.Is(err, ErrNotSupported) {
		return err
	}
	return fmt.Errorf("installation method %s: %w", m.Method, err)
}

// about sets the missing platform if a method has the version.
func (e *UnresolvedError) about(wanted []provider.Platform, parts []provider.Release) error {
	var have []provider.Platform
	known := false
	for _, a := range e.attempts {
		var missing *provider.PlatformError
		if errors.As(a.err, &missing) {
			known, have = true, append(have, missing.Have...)
		}
	}
	for _, part := range parts {
		known, have = true, append(have, part.Platforms()...)
	}
	if known {
		e.missing = &provider.PlatformError{Address: e.Address, Version: e.Version, Have: provider.SortPlatforms(have)}
		if len(wanted) > 0 {
			e.missing.Wanted = wanted[0]
		}
	}
	return e
}
