package publish

import (
	"context"
	"errors"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// readIndex reads the index that the tag points to, and checks the owner of the repository
// if the tag does not exist.
func (j *job) readIndex(ctx context.Context, f *facts) (err error) {
	f.stored, err = repository.Inspect(ctx, j.repo, f.tag, repository.DepthIndex)
	if f.from, f.released = f.stored.Digest, f.stored; err == nil && j.options.Stage {
		f.released, err = repository.Inspect(ctx, j.repo, artifact.Tag(j.version), repository.DepthIndex)
		f.stored = baseOf(f.stored, f.released)
	}
	if err != nil {
		return err
	}
	if f.foreign = checkIndexOwner(f.stored, j.address, j.options.Aliases...); f.stored.Exists() || j.options.Force || errors.Is(f.stored.Absent, repository.ErrNoRepository) {
		return nil
	}
	err = j.memory.checkOwner(ctx, j.repo, j.address, j.options.Aliases)
	if other, ok := errors.AsType[*repository.ProviderMismatchError](err); ok {
		f.foreign, err = other, nil
	}
	return err
}

// baseOf returns the index to which a staged release is added. If the pending index
// contains the complete released index and additional content, baseOf returns the
// pending index. Otherwise, it returns the released index. Therefore, released packages
// are not staged again, and promoting a pending index only moves a tag.
func baseOf(pending, released repository.Inspection) repository.Inspection {
	switch {
	case released.Exists() && !adds(pending, released):
		return released
	case pending.IsDenial():
		return repository.Inspection{Tag: pending.Tag, Absent: repository.ErrNotFound}
	}
	return pending
}

// adds reports whether the pending index contains the complete released index and
// additional content.
func adds(pending, released repository.Inspection) bool {
	if !pending.Exists() || pending.Dangling || pending.Format != nil || released.Dangling || released.Format != nil {
		return false
	}
	for _, t := range released.Index.Targets {
		other, exists := pending.Index.Target(t.Platform)
		was, known := t.Digest()
		is, stated := other.Digest()
		if !exists || t.Descriptor.Digest != other.Descriptor.Digest && (!known || !stated || was != is) {
			return false
		}
	}
	return len(pending.Index.Targets) > len(released.Index.Targets)
}

// checkIndexOwner returns an error if the tag contains no release, or a release of a
// different provider that no alias allows.
func checkIndexOwner(i repository.Inspection, a provider.Address, aliases ...provider.Alias) *repository.ProviderMismatchError {
	if other, ok := errors.AsType[*repository.ProviderMismatchError](i.CheckProvider(a, aliases...)); ok {
		return other
	}
	if i.Descriptor.Digest != "" && len(i.Index.Targets) == 0 {
		return &repository.ProviderMismatchError{Tag: i.Tag, Wanted: a, Format: &artifact.FormatError{
			Problem: "index contains only packages for specific OS versions or unknown platforms",
		}}
	}
	return nil
}
