package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// job identifies the release to publish, its source, and the target repository.
type job struct {
	*Publisher
	src     provider.Source
	can     provider.Capabilities
	repo    repository.Repository
	address provider.Address
	version provider.Version
	options Options
	// held is set if a gate holds the release.
	held *HeldError
}

// tag returns the tag to write.
func (j *job) tag() string {
	if j.options.Stage {
		return artifact.PendingTag(j.version)
	}
	return artifact.Tag(j.version)
}

// part is a part of the facts. It is gathered when a plan needs it.
type part int

const (
	needNothing      part = iota
	needDenial            // the denial of the version, and the list of tags
	needIndex             // the index that the tag points to, and the owner of the repository
	needPlatforms         // the wanted platforms, inspected to the depth that Check specifies
	needRelease           // the release of the source
	needOverlap           // the stored platforms that the release also has
	needAll               // all stored content, with its documents
	needSigned            // the documents of unchanged platforms, whose signature is verified again
	needReferrers         // the source's documents about all platforms
	needAttestations      // the attestations of the packages that the plan adds
)

// gather adds the part of the facts that a plan needs.
func (j *job) gather(ctx context.Context, f *facts, needs part) (err error) {
	f.known[needs] = true
	switch needs {
	case needDenial:
		return j.readDenial(ctx, f)
	case needIndex:
		return j.readIndex(ctx, f)
	case needRelease:
		f.release, err = j.src.Release(ctx, j.address, j.version, j.options.Platforms...)
		if err == nil {
			f.release, err = j.announceSignature(ctx, f.release)
		}
		return err
	case needReferrers:
		if j.can.Documents != nil {
			f.documents, err = j.can.Documents(ctx, f.release)
		}
		if containsSBOM(f.documents) {
			j.options.AutoSBOM = false
		}
		return err
	case needAttestations:
		return j.readAttestations(ctx, f)
	}
	return j.readStored(ctx, f, needs)
}

// readDenial reads the denial of the version. If the repository has no list of tags,
// the repository probably does not exist yet, and apply checks the denial again.
func (j *job) readDenial(ctx context.Context, f *facts) (err error) {
	f.tags, err = j.repo.Tags(ctx)
	if errors.Is(err, repository.ErrNoRepository) || errors.Is(err, repository.ErrNotFound) {
		return nil
	}
	unlisted := err
	err = repository.CheckDenied(ctx, j.repo, j.version)
	if denied, ok := errors.AsType[*repository.DeniedError](err); ok {
		f.denial, f.reconsidered = &denied.Record, j.options.Gates != nil && j.options.Gates.Reconsider(denied.Record)
		return nil
	}
	if err == nil && j.policy().listed {
		err = unlisted
	}
	return err
}

// readIndex reads the index that the tag points to, and checks the owner of the repository
// if the tag does not exist.
func (j *job) readIndex(ctx context.Context, f *facts) (err error) {
	f.stored, err = repository.Inspect(ctx, j.repo, f.tag, repository.DepthIndex)
	if f.from = f.stored.Digest; err == nil && j.options.Stage {
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

// readStored inspects stored platforms in more depth. If the plan needs all stored
// content, readStored also requests damaged platforms from the source that the release
// doesn't contain, and reads the documents of the other platforms.
func (j *job) readStored(ctx context.Context, f *facts, needs part) (err error) {
	var platforms []provider.Platform
	depth := max(j.options.depth(), repository.DepthBlobs)
	switch needs {
	case needPlatforms:
		if err := j.readWanted(ctx, f); err != nil || len(f.wanted) == 0 {
			return err
		}
		platforms, depth = f.wanted, j.options.depth()
	case needOverlap:
		platforms = f.release.Platforms()
	case needSigned:
		platforms, depth = f.unchanged(), repository.DepthManifests
	}
	f.stored, err = f.stored.InspectMore(ctx, j.repo, depth, platforms...)
	if err != nil || needs == needPlatforms || needs == needOverlap {
		return err
	}
	if needs == needAll {
		if damaged := f.sort(j.repo); len(damaged) > 0 { // the release under the tag must be complete
			fresh, err := j.src.Release(ctx, j.address, j.version, damaged...)
			if _, missing := errors.AsType[*provider.PlatformError](err); missing {
				f.lost, err = damaged, nil
			}
			if err != nil {
				return fmt.Errorf("restoring the damaged package of %s: %w", damaged[0], err)
			}
			f.restored = fresh.Packages
		}
		if platforms = f.intact; len(platforms) == 0 {
			return nil
		}
	}
	f.kept, err = oci.FromInspection(ctx, j.repo, f.stored, j.address, j.version, platforms)
	if err != nil {
		return &provider.Error{Op: "reading", Address: j.address, Version: j.version, Err: err}
	}
	f.resigned = j.signedByUs(f.kept)
	return nil
}

// readWanted determines the wanted platforms before the release is read, if the source
// supports this and the index has all of the platforms. Published versions don't
// change, so readWanted reads their digests only with Recheck or Force. If the wanted
// platforms remain unknown, the plan needs the release.
func (j *job) readWanted(ctx context.Context, f *facts) (err error) {
	wanted := j.options.Platforms
	switch {
	case !j.can.Published:
		return nil
	case j.can.Platforms != nil && !j.options.Recheck && !j.options.Force:
		if len(wanted) == 0 {
			wanted, err = j.can.Platforms(ctx, j.address, j.version)
		}
	case j.can.Digests == nil:
		return nil
	default:
		f.digests, err = j.can.Digests(ctx, j.address, j.version)
		if f.digests == nil {
			return err
		}
		if len(wanted) == 0 {
			wanted = slices.Collect(maps.Keys(f.digests))
		}
	}
	if err != nil || slices.ContainsFunc(wanted, func(p provider.Platform) bool { return !f.stored.HasPlatform(p) }) {
		return err
	}
	f.wanted = provider.SortPlatforms(wanted)
	return nil
}

// errUnattested is returned if a package has no attestation, but one is required.
var errUnattested = provider.Errorf(provider.Unverified, "no attestation found")

// readAttestations reads the attestations of the packages that a plan adds. Bundles about
// SHA256SUMS become documents of the release.
func (j *job) readAttestations(ctx context.Context, f *facts) (err error) {
	r := f.release
	r.Packages = slices.DeleteFunc(slices.Clone(r.Packages), func(p provider.Package) bool { return slices.Contains(f.intact, p.Platform) })
	if ask := j.can.Attestations; ask != nil && len(r.Packages) > 0 {
		f.attestations, err = ask(ctx, r)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, p := range r.Packages {
		if err == nil && len(f.attestations[p.Digest]) == 0 && j.options.Attestations == AttestationsRequire {
			err = fmt.Errorf("%s: %w", p.Filename, errUnattested)
		}
	}
	if err != nil && j.options.Attestations == AttestationsRequire {
		return fmt.Errorf("reading attestations: %w", err)
	}
	f.unattested = err
	sums, _ := r.Document(provider.KindSums)
	for _, bundle := range f.attestations[sums.Digest] {
		bundle.Scope = provider.ScopeRelease
		if _, has := r.Document(provider.KindSigstore); !has {
			f.release.Documents = append(slices.Clip(f.release.Documents), bundle)
			break // a manifest contains at most one
		}
	}
	return nil
}
