package doctor

import (
	"context"
	"errors"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Remedies finds remedies for missing releases.
type Remedies struct {
	// Repository opens a provider's OCI repository. An error means that the provider
	// has no OCI repository.
	Repository func(provider.Address) (repository.Reader, error)
	// Template is the template of the repositories. It is zero if the CLI configuration
	// specifies the repositories.
	Template template.Template
}

// Find returns a hint for an error. The hint explains how to restore missing content,
// or that a missing version is pending or denied. For other errors, Find returns "".
func (r Remedies) Find(ctx context.Context, err error) string {
	if missing, ok := errors.AsType[*provider.VersionError](err); ok {
		if repo, err := r.Repository(missing.Address); err == nil {
			if hint := FindPending(ctx, repo, requirementOf(missing), r.Template).Hint(); hint != "" {
				return hint
			}
		}
	}
	_, isMissing := errors.AsType[*repository.DanglingTagError](err)
	isMissing = isMissing || errors.Is(err, repository.ErrNotFound)
	failed, ok := errors.AsType[*provider.Error](err)
	if !ok || isAbsent(err) || !isMissing || failed.Version == (provider.Version{}) || !r.has(failed.Address) {
		return ""
	}
	return "restore it: " + MirrorCommand(failed.Address, r.Template, failed.Version.String()) + "; " + notMirrored("")
}

// Lock is like Find, but also suggests mirroring a missing version.
func (r Remedies) Lock(ctx context.Context, err error) string {
	if remedy := r.Find(ctx, err); remedy != "" {
		return remedy
	}
	missing, ok := errors.AsType[*provider.VersionError](err)
	if !ok || !r.has(missing.Address) {
		return ""
	}
	return "mirror a matching version: " + MirrorCommand(missing.Address, r.Template, requirementOf(missing).Constraint.String())
}

// Exec is like Find, but also suggests mirroring missing releases and packages for this
// platform.
func (r Remedies) Exec(ctx context.Context, err error) string {
	if remedy := r.Find(ctx, err); remedy != "" {
		return remedy
	}
	if failed, ok := errors.AsType[*provider.Error](err); ok && isAbsent(err) && r.has(failed.Address) {
		if failed.Version == (provider.Version{}) { // no lock file selects a version
			return "mirror the provider: " + MirrorCommand(failed.Address, r.Template, wantedOf(err))
		}
		return "mirror the version: " + MirrorCommand(failed.Address, r.Template, failed.Version.String())
	}
	e, ok := errors.AsType[*provider.PlatformError](err)
	switch {
	case !ok:
		return ""
	case r.has(e.Address) && e.Wanted == (provider.Platform{}): // the release has no platform
		return "choose another version, because this one has no packages"
	case r.has(e.Address):
		return "mirror the version for this platform, too: " + MirrorCommand(e.Address, r.Template, e.Version.String()) + " --platform " + e.Wanted.String() + "; if you built the provider yourself, publish it for this platform"
	}
	return "the provider was not released for this platform; lock another version, or use another platform"
}

// has reports whether a provider comes from an OCI repository.
func (r Remedies) has(a provider.Address) bool {
	_, err := r.Repository(a)
	return err == nil
}

func isAbsent(err error) bool {
	return errors.Is(err, provider.ErrVersionNotFound) || errors.Is(err, provider.ErrProviderNotFound)
}

// wantedOf returns the constraint that no existing version meets, or "" if it is unknown.
func wantedOf(err error) string {
	if missing, ok := errors.AsType[*provider.VersionError](err); ok {
		return requirementOf(missing).Constraint.String()
	}
	return ""
}

// requirementOf returns the unmet requirement.
func requirementOf(e *provider.VersionError) provider.Requirement {
	if e.Version != (provider.Version{}) {
		return provider.Requirement{Address: e.Address, Constraint: e.Version.Constraint()}
	}
	return provider.Requirement{Address: e.Address, Constraint: e.Wanted}
}
