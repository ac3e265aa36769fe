package publish

import (
	"context"
	"errors"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// checkOwner refuses to make a tag in a repository of another provider, unless by
// force.
func (p publisher) checkOwner(ctx context.Context, old repository.Inspection) error {
	if old.Exists() || p.options.Force || errors.Is(old.Absent, repository.ErrNoRepository) {
		return nil
	}
	err := p.options.Seen.owner(ctx, ownedBy{p.repo.String(), p.address}, func(ctx context.Context) error {
		return repository.CheckOwner(ctx, p.repo, p.address, p.options.Aliases...)
	})
	if foreign, ok := errors.AsType[*repository.ForeignError](err); ok {
		return p.conflict(foreign, foreign.Error())
	}
	return err
}

// foreign says why what a tag holds is not the provider's, nor one's that an alias
// allows; nil when it is.
func (p publisher) foreign(i repository.Inspection) *repository.ForeignError {
	return foreign(i, p.address, p.options.Aliases...)
}

func foreign(i repository.Inspection, a provider.Address, aliases ...provider.Alias) *repository.ForeignError {
	if other, ok := errors.AsType[*repository.ForeignError](i.CheckProvider(a, aliases...)); ok {
		return other
	}
	if i.Descriptor.Digest != "" && len(i.Index.Targets) == 0 {
		return &repository.ForeignError{Tag: i.Tag, Wanted: a, Format: &artifact.FormatError{
			Problem: "has packages for versions of operating systems only, or for unknown platforms",
		}}
	}
	return nil
}

// holds tells whether a tag is there, and is not known to be of another provider.
func (p publisher) holds(i repository.Inspection) bool { return i.Exists() && p.foreign(i) == nil }

// misnamed says whose name a stored package goes by when it is another's.
func misnamed(f repository.Found, a provider.Address, v provider.Version) error {
	if f.Err != nil {
		return nil //nolint:nilerr // it has no name that could be read
	}
	return f.Package(a, v).CheckIdentity()
}

func (p publisher) conflict(foreign *repository.ForeignError, reasons ...string) error {
	return &repository.ConflictError{Release: p.address.String() + " " + p.version.String(), Reasons: reasons, Foreign: foreign}
}
