package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Addresses returns the addresses of all providers and modules that the sender selected.
func (b *Bundle) Addresses() (all []provider.Address) {
	for _, r := range b.Manifest.Repositories {
		all = append(all, r.address)
	}
	return all
}

// Requirements returns an exact requirement for each version in the bundle.
func (b *Bundle) Requirements() (all []provider.Requirement) {
	for _, r := range b.Manifest.Repositories {
		for _, t := range r.Tags {
			if v, ok := r.VersionOf(t.Name); ok {
				all = append(all, provider.Requirement{Address: r.address, Constraint: provider.ExactConstraint(v)})
			}
		}
	}
	return all
}

// VersionOf returns the version to which a tag belongs.
func (r Repository) VersionOf(tag string) (provider.Version, bool) {
	if r.address.IsModule() {
		return artifact.ParseModuleTag(tag)
	}
	return artifact.ParseTag(tag)
}

// tagOf returns the tag of a version.
func (r Repository) tagOf(v provider.Version) string {
	var names []string
	for _, t := range r.Tags {
		names = append(names, t.Name)
	}
	if r.address.IsModule() {
		tag, _ := artifact.ModuleTag(names, v)
		return tag
	}
	return artifact.Tag(v)
}

// Import copies the versions in the bundle to repositories, like [mirror.Copy].
// Versions that the target denies are skipped, unless Force is set. If the disk that
// contains the image layouts has too little free space, the versions that don't fit
// fail before anything is written. If content of a version is neither in the available
// parts nor in the target, the version fails with a *[MissingPartError]. In this case,
// Import pushes the blobs that are available, so that a later run needs only the
// remaining parts. Import returns the results for a receipt, and errors from
// [mirror.RunWith].
func Import(ctx context.Context, b *Bundle, o mirror.Options) (imported []Imported, err error) {
	if o.Publisher == nil {
		o.Publisher = &publish.Publisher{}
	}
	i := importer{bundle: b, publisher: o.Publisher}
	target, required := o.Target, int64(0)
	o.Target = func(a provider.Address) (repository.Repository, publish.Options, error) {
		repo, options, err := target(a)
		if err == nil {
			err = b.checkRoom(a, repo, &required)
		}
		return repo, options, err
	}
	onResult := o.OnResult
	o.OnResult = func(r mirror.Result) {
		one := Imported{Address: r.Item.Requirement.Address.String(), Version: r.Item.Version.String(), Status: string(r.Published.Status), Digest: r.Published.Digest}
		if r.Err != nil {
			one.Status = "failed"
		}
		imported = append(imported, one)
		if onResult != nil {
			onResult(r)
		}
	}
	src := oci.New(func(a provider.Address) (repository.Reader, error) { return b.Reader(a, nil) })
	err = mirror.RunWith(ctx, src, b.Requirements(), o, i.version)
	return imported, err
}

// checkRoom adds the size of the available blobs that are missing from an image layout
// to required. It returns an error if the disk has less free space, so that a lack of
// space is detected before anything is written. It assumes that all layouts are on the
// same disk.
func (b *Bundle) checkRoom(a provider.Address, repo repository.Repository, required *int64) error {
	blobPath := repo.Traits().BlobPath
	if blobPath == nil {
		return nil
	}
	var dir string
	for _, d := range b.repositories[a].Blobs {
		file, err := blobPath(d)
		if err != nil {
			return err
		}
		dir = filepath.Dir(file)
		if info, err := os.Stat(file); len(b.positions[d]) > 0 && (err != nil || info.Size() != b.content[d].Size) {
			*required += b.content[d].Size
		}
	}
	if err := atomicfile.CheckRoom(dir, *required); err != nil {
		return fmt.Errorf("checking the free space for %s: %w", repo, err)
	}
	return nil
}

type importer struct {
	bundle    *Bundle
	publisher *publish.Publisher
	// pushed contains the addresses whose available blobs were pushed.
	pushed memo.Memo[provider.Address, struct{}]
}

// version imports one version.
func (i *importer) version(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, o publish.Options) (publish.Result, error) {
	from, err := i.bundle.Reader(a, repo)
	if err != nil {
		return publish.Result{}, err
	}
	o.SkipDenied, o.Import = !o.Force, true
	missing, isMissing := errors.AsType[*MissingPartError](i.missing(ctx, from, i.bundle.repositories[a].tagOf(v)))
	if !isMissing || repository.CheckDenied(ctx, repo, v) != nil {
		result, copied := i.publisher.Copy(ctx, from, repo, a, v, o)
		if missing = i.damaged(ctx, copied); missing == nil {
			return result, copied
		}
		err = copied
	}
	if !o.DryRun {
		_, failed := i.pushed.Get(ctx, a, func(ctx context.Context) (none struct{}, err error) {
			return none, i.pushAvailable(ctx, from.(*reader), repo)
		})
		err = cmp.Or(failed, err)
	}
	problem := error(missing)
	if err != nil {
		problem = fmt.Errorf("%w; %w", err, missing)
	}
	return publish.Result{Plan: publish.Plan{Address: a, Version: v, Tag: artifact.Tag(v)}}, fmt.Errorf("importing %s %s: %w", a, v, problem)
}

// missing returns a *[MissingPartError] if content of a version is neither in the
// available parts nor in the target. If it returns a different error, the copy would
// fail with this error, too.
func (i *importer) missing(ctx context.Context, from repository.Reader, tag string) error {
	graph, err := repository.ReadGraph(ctx, from, tag)
	if err != nil {
		return err
	}
	var lost []digest.Digest
	for _, d := range graph.Blobs {
		if _, err := from.Stat(ctx, d.Digest); err != nil {
			if _, ok := errors.AsType[*MissingPartError](err); !ok {
				return err
			}
			lost = append(lost, d.Digest)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return i.bundle.missingPart(lost...)
}

// damaged returns a *[MissingPartError] if a copy failed because content of the bundle
// is damaged. If a checksum in the target is wrong, or for other errors, it returns nil.
func (i *importer) damaged(ctx context.Context, err error) *MissingPartError {
	mismatch, ok := errors.AsType[*sums.MismatchError](err)
	if !ok {
		return nil
	}
	d := digest.Digest(mismatch.Want)
	if len(i.bundle.verifyContent(ctx, d)) > 0 && ctx.Err() == nil {
		return &MissingPartError{Digests: []digest.Digest{d}, Parts: i.bundle.content[d].Parts, Total: i.bundle.Manifest.Parts}
	}
	return nil
}

// pushAvailable pushes the available blobs that are missing from the target. If a blob
// is damaged, it still pushes the remaining blobs.
func (i *importer) pushAvailable(ctx context.Context, from *reader, to repository.Repository) (failed error) {
	for _, blob := range from.repository.Blobs {
		if _, err := to.Stat(ctx, blob); err == nil || len(i.bundle.positions[blob]) == 0 {
			continue
		}
		d := ocispec.Descriptor{Digest: blob, Size: i.bundle.content[blob].Size}
		body, err := repository.Verified(ctx, from, d, "blob "+blob.String())
		if err == nil {
			err = to.PushBlob(ctx, d, body)
			_ = body.Close()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed = cmp.Or(failed, err)
	}
	return failed
}
