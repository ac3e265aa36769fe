package publish

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// readIndex reads the index that the tag points to. If the tag does not exist, readIndex
// checks the provider of the repository.
func (j *job) readIndex(ctx context.Context, f *facts) (err error) {
	f.stored, err = j.readTag(ctx, f, f.tag)
	if f.from, f.released = f.stored.Digest, f.stored; err == nil && f.stage {
		f.released, err = j.readTag(ctx, f, artifact.Tag(j.version))
		f.stored = baseOf(f.stored, f.released)
	}
	if err != nil {
		return err
	}
	if f.stored.IsDenial() {
		f.stored = repository.Inspection{Tag: f.stored.Tag, Absent: repository.ErrNotFound}
	}
	if f.foreign = checkIndexOwner(f.stored, j.address, j.options.Aliases...); f.stored.Exists() || j.options.Force || errors.Is(f.stored.Absent, repository.ErrNoRepository) {
		return nil
	}
	err = j.cache.checkOwner(ctx, j.repo, j.address, j.options.Aliases)
	if other, ok := errors.AsType[*repository.ProviderMismatchError](err); ok {
		f.foreign, err = other, nil
	}
	return err
}

// readTag reads the index that a tag points to. It doesn't request a tag that is missing
// from the tag list. If the list is out of date, writing the tag returns
// [repository.ErrTagMoved], and the next round requests the tag.
func (j *job) readTag(ctx context.Context, f *facts, tag string) (repository.Inspection, error) {
	isNew := errors.Is(f.unlisted, repository.ErrNoRepository)
	_, isWritten := j.cache.written.Lookup(storedTag{j.repo.String(), tag})
	isListed := slices.Contains(f.tags, tag) || isWritten || f.unlisted != nil && !isNew
	if isListed || f.moved || j.options.DryRun || j.repo.Capabilities().BlobPath != nil {
		return repository.Inspect(ctx, j.repo, tag, repository.DepthIndex)
	}
	return repository.Inspection{Tag: tag, Absent: cmp.Or(f.unlisted, repository.ErrNotFound)}, nil
}

// baseOf returns the index to which a staged release is added. If the pending index
// contains the complete released index and additional content, baseOf returns the
// pending index. Otherwise, it returns the released index. Therefore, released packages
// are not staged again, and promoting a pending index only moves a tag.
func baseOf(pending, released repository.Inspection) repository.Inspection {
	if released.Exists() && !adds(pending, released) {
		return released
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

// checkIndexOwner returns an error if the tag points to content other than a release,
// or to a release of a different provider that no alias allows.
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
