package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// attest attaches attestations to the manifest of a package before the release is
// tagged. If the manifest of an existing package changes, attest also attaches the
// attestations of the previous manifest.
func (j *job) attest(ctx context.Context, f *facts, p provider.Package, manifest ocispec.Descriptor) error {
	if j.options.NoReferrers {
		return nil
	}
	bundles := f.attestations[p.Digest]
	manifest.Platform, manifest.Annotations, manifest.ArtifactType = nil, nil, ""
	was := f.stored.At(p.Platform)
	before, known := was.Target.Digest()
	if d := was.Target.Descriptor.Digest; known && before == p.Digest && d != manifest.Digest {
		kept, _, err := repository.Attestations(ctx, j.repo, d, p)
		if err != nil {
			return err
		}
		bundles = slices.Concat(bundles, kept)
	}
	names, err := repository.AttachAttestations(ctx, j.repo, bundles, manifest)
	if errors.Is(err, repository.ErrNoReferrersList) && j.options.Attestations != AttestationsRequire {
		f.unattested, err = err, nil
	}
	f.attached = append(f.attached, names...)
	return err
}

// attestStored attaches attestations to unchanged packages that have none. In a dry run,
// it only sets the status.
func (j *job) attestStored(ctx context.Context, f *facts, r *Result) error {
	if len(f.unattestedPackages) == 0 {
		return nil
	}
	for _, p := range f.unattestedPackages {
		if j.options.DryRun {
			if len(f.attestations[p.Digest]) > 0 {
				r.Status = Extended
			}
			continue
		}
		if err := j.attest(ctx, f, p, f.stored.At(p.Platform).Target.Descriptor); err != nil {
			return err
		}
	}
	if r.Unattested = f.unattested; len(f.attached) > 0 {
		r.Status, r.Attached = Extended, slices.Concat(r.Attached, sortedNames(f.attached))
	}
	return nil
}

// sortedNames returns the sorted names without duplicates.
func sortedNames(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// complete attaches the documents that belong to an index before a tag points to this
// index, so that a failure doesn't leave an incomplete release.
func (j *job) complete(ctx context.Context, f *facts, index artifact.Blob) error {
	if j.options.NoReferrers {
		return nil
	}
	documents, err := j.carried(ctx, *f, index.Descriptor)
	if err != nil {
		return err
	}
	names, err := repository.Attach(ctx, j.repo, documents, index)
	f.attached, f.completed = append(f.attached, names...), index.Descriptor.Digest
	return err
}

// attach attaches documents about all platforms to the index that the tag points to,
// unless complete already did this. The documents are the source's documents and the
// referrers of earlier indexes. attach adds the names of new referrers to the result.
// If the tag then points to a new index, attach starts again with that index. A later
// run that extends the index also keeps its referrers.
func (j *job) attach(ctx context.Context, f facts, r *Result) error {
	index := f.now.Descriptor
	if j.options.DryRun || j.options.NoReferrers || index.Digest == "" || index.Digest == f.completed || r.Tag != f.tag {
		return nil
	}
	for range maxMoves {
		documents, err := j.carried(ctx, f, index)
		if err != nil {
			return err
		}
		names, err := repository.Attach(ctx, j.repo, documents, artifact.Blob{Descriptor: index})
		if err != nil {
			return err
		}
		r.Attached = slices.Concat(r.Attached, slices.DeleteFunc(names, func(name string) bool { return slices.Contains(r.Attached, name) }))
		r.Digest = index.Digest
		if len(names) == 0 {
			return nil
		}
		now, err := repository.Inspect(ctx, j.repo, r.Tag, repository.DepthIndex)
		if err != nil {
			return fmt.Errorf("reading the tag back: %w", err)
		}
		if now.Digest == index.Digest || now.Descriptor.Digest == "" {
			return nil
		}
		index = now.Descriptor
	}
	return fmt.Errorf("attaching documents: %w (%d attempts)", repository.ErrTagMoved, maxMoves)
}

// carried returns the source's documents. It adds the referrers of earlier indexes,
// except those that a document of the source replaces. Decisions are not carried over,
// because each decision applies to only one index.
func (j *job) carried(ctx context.Context, f facts, index ocispec.Descriptor) ([]provider.Document, error) {
	documents := slices.Clone(f.documents)
	// Start with the last index, which has the newest referrers.
	for _, before := range slices.Backward(f.earlier) {
		if before.Digest == index.Digest {
			continue
		}
		found, err := repository.Documents(ctx, j.repo, before.Digest)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if !slices.ContainsFunc(documents, func(o provider.Document) bool { return o.Name == d.Name && o.MediaType == d.MediaType }) {
				documents = append(documents, d)
			}
		}
	}
	return documents, nil
}
