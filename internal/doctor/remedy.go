package doctor

import (
	"context"
	"errors"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Remedies says what to do if a release is not where providers come from.
type Remedies struct {
	// Repository opens the OCI repository that a provider comes from. An error means that
	// it comes from none.
	Repository func(provider.Address) (repository.Reader, error)
	// Template is that of the repositories, the zero value if the CLI configuration has
	// them.
	Template template.Template
}

// Find returns what to do about an error: the command to restore what a repository has
// lost, or how a version that is missing waits for approval or was denied. It is empty for
// other errors.
func (r Remedies) Find(ctx context.Context, err error) string {
	if missing, ok := errors.AsType[*provider.VersionError](err); ok {
		if repo, err := r.Repository(missing.Address); err == nil {
			if hint := FindPending(ctx, repo, requirementOf(missing), r.Template).Hint(); hint != "" {
				return hint
			}
		}
	}
	_, lost := errors.AsType[*repository.DanglingTagError](err)
	lost = lost || errors.Is(err, repository.ErrNotFound)
	at, ok := errors.AsType[*provider.Error](err)
	if !ok || isAbsent(err) || !lost || at.Version == (provider.Version{}) || !r.has(at.Address) {
		return ""
	}
	return "restore it: " + MirrorCommand(at.Address, r.Template, at.Version.String()) + "; " + notMirrored("")
}

// Lock is Find for a provider that was to be locked, of which another version can be
// mirrored.
func (r Remedies) Lock(ctx context.Context, err error) string {
	if remedy := r.Find(ctx, err); remedy != "" {
		return remedy
	}
	missing, ok := errors.AsType[*provider.VersionError](err)
	if !ok || !r.has(missing.Address) {
		return ""
	}
	return "bring one there: " + MirrorCommand(missing.Address, r.Template, requirementOf(missing).Constraint.String())
}

// Exec is Find for providers of lock files that are needed on this machine.
func (r Remedies) Exec(ctx context.Context, err error) string {
	if remedy := r.Find(ctx, err); remedy != "" {
		return remedy
	}
	if at, ok := errors.AsType[*provider.Error](err); ok && isAbsent(err) && r.has(at.Address) {
		return "bring it there: " + MirrorCommand(at.Address, r.Template, at.Version.String()) + "; all that is locked: tofu-oci mirror --lock-file FILE --to REPO"
	}
	e, ok := errors.AsType[*provider.PlatformError](err)
	switch {
	case !ok:
		return ""
	case r.has(e.Address):
		return "bring it there for this machine too: " + MirrorCommand(e.Address, r.Template, e.Version.String()) + " --platform " + e.Wanted.String() + "; what was built here, tofu-oci publish adds"
	}
	return "its author has released nothing for this machine: lock another version, or run where there is one"
}

// has reports whether a provider comes from an OCI repository.
func (r Remedies) has(a provider.Address) bool {
	_, err := r.Repository(a)
	return err == nil
}

func isAbsent(err error) bool {
	return errors.Is(err, provider.ErrVersionNotFound) || errors.Is(err, provider.ErrProviderNotFound)
}

// wantedBy is what was asked for and is missing.
func requirementOf(e *provider.VersionError) provider.Requirement {
	if e.Version != (provider.Version{}) {
		return provider.Requirement{Address: e.Address, Constraint: e.Version.Constraint()}
	}
	return provider.Requirement{Address: e.Address, Constraint: e.Wanted}
}
