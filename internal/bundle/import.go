package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
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

// Import copies the versions in the bundle to repositories, like [mirror.Copy]. Versions
// that the target denies are skipped, unless Force is set. If the disk that contains the
// image layouts has too little free space, the versions that don't fit fail before
// anything is written. If content of a version is neither in the available parts nor in
// the target, the version fails with a *[MissingPartError]. In this case, Import pushes
// the content that is available, so that a later run needs only the remaining parts, in
// any order. Import also copies the sender's denials, which fail in the same way. Import
// returns the results for an inventory, and errors from [mirror.RunWith].
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
	return imported, errors.Join(err, i.withdraw(ctx, target, func(r mirror.Result) {
		if o.OnFinish != nil {
			o.OnFinish(r)
		}
		o.OnResult(r)
	}))
}

// withdraw copies the sender's denials to the targets.
func (i *importer) withdraw(ctx context.Context, target func(provider.Address) (repository.Repository, publish.Options, error), report func(mirror.Result)) error {
	for _, r := range i.bundle.Manifest.Repositories {
		for _, t := range r.Tags {
			denied := artifact.Tags{t.Name}.Denied()
			if ctx.Err() != nil || len(denied) == 0 {
				continue
			}
			repo, o, err := target(r.address)
			if err != nil {
				return err
			}
			v := denied[0]
			record, err := i.withdrawOne(ctx, repo, r.address, v, o)
			if record == nil && err == nil {
				continue // the target already has the denial
			}
			result := mirror.Result{
				Item: mirror.Item{Requirement: provider.Requirement{Address: r.address, Constraint: provider.ExactConstraint(v)}, Version: v}, Repository: repo.String(),
				Published: publish.Result{Plan: publish.Plan{Address: r.address, Version: v, Status: publish.Denied, Tag: artifact.DeniedTag(v), Denial: record}}, Err: err,
			}
			if record != nil {
				result.Published.Digest = record.Digest
			}
			report(result)
		}
	}
	return ctx.Err()
}

func (i *importer) withdrawOne(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, o publish.Options) (*repository.DecisionRecord, error) {
	from, err := i.bundle.reader(a, repo)
	if err != nil {
		return nil, err
	}
	record, err := i.denial(ctx, from, v)
	if missing, ok := errors.AsType[*MissingPartError](err); ok {
		existing, ok := errors.AsType[*repository.DeniedError](repository.CheckDenied(ctx, repo, v))
		if !ok {
			err := i.keepAvailable(ctx, from, repo, o.DryRun)
			return nil, fmt.Errorf("importing the denial of %s %s: %w", a, v, missing.after(err))
		}
		record, err = existing.Record, nil // the denial was imported from another part
	}
	if err != nil {
		return nil, err
	}
	return approval.Withdraw(ctx, repo, a, v, record, approval.DenyOptions{Aliases: o.Aliases, DryRun: o.DryRun, Signer: o.RecordSigner})
}

// denial reads a denial. If content of the denial is missing or damaged, denial returns a
// *[MissingPartError], unlike [repository.ReadDenial], which returns a placeholder. The
// target would keep the placeholder instead of the sender's reason.
func (i *importer) denial(ctx context.Context, from *reader, v provider.Version) (record repository.DecisionRecord, err error) {
	_, data, err := from.Manifest(ctx, artifact.DeniedTag(v))
	m, _ := artifact.ParseDecisionManifest(data) // a denial can lack a record
	for _, d := range []ocispec.Descriptor{m.Statement, m.Signature, m.Keys} {
		if d.Digest != "" && err == nil {
			err = check(ctx, from, d)
		}
	}
	if damage := i.damaged(ctx, err); damage != nil {
		return record, damage
	}
	if err != nil {
		return record, err
	}
	record, exists, err := repository.ReadDenial(ctx, from, v)
	if err == nil && !exists {
		err = fmt.Errorf("reading the denial of %s in %s: %w", v, from, repository.ErrNotFound)
	}
	return record, err
}

// check reads a blob and verifies it.
func check(ctx context.Context, from *reader, d ocispec.Descriptor) error {
	body, err := repository.Verified(ctx, from, d, "blob "+d.Digest.String())
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, body)
	return errors.Join(err, body.Close())
}

// checkRoom adds the size of the available content that is missing from an image layout
// to required. It returns an error if the disk has less free space, so that a lack of
// space is detected before anything is written. It assumes that all layouts are on the
// same disk.
func (b *Bundle) checkRoom(a provider.Address, repo repository.Repository, required *int64) error {
	blobPath := repo.Capabilities().BlobPath
	if blobPath == nil {
		return nil
	}
	var dir string
	for d := range b.contentOf(b.repositories[a]) {
		file, err := blobPath(d.Digest)
		if err != nil {
			return err
		}
		dir = filepath.Dir(file)
		if info, err := os.Stat(file); len(b.positions[d.Digest]) > 0 && (err != nil || info.Size() != d.Size) {
			*required += d.Size
		}
	}
	if err := atomicfile.CheckFreeSpace(dir, *required); err != nil {
		return fmt.Errorf("checking the free space for %s: %w", repo, err)
	}
	return nil
}

type importer struct {
	bundle    *Bundle
	publisher *publish.Publisher
	// pushed contains the providers and modules for which pushAvailable has succeeded.
	pushed memo.Memo[provider.Address, struct{}]
}

// version imports one version.
func (i *importer) version(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, o publish.Options) (publish.Result, error) {
	from, err := i.bundle.reader(a, repo)
	if err != nil {
		return publish.Result{}, err
	}
	o.SkipDenied, o.Import = !o.Force, true
	tag := i.bundle.repositories[a].tagOf(v)
	missing, isMissing := errors.AsType[*MissingPartError](i.missing(ctx, from, tag, o.NoReferrers))
	if !isMissing || repository.CheckDenied(ctx, repo, v) != nil {
		result, copied := i.publisher.Copy(ctx, from, repo, a, v, o)
		if missing = i.damaged(ctx, copied); missing == nil {
			return result, copied
		}
		err = copied
	}
	err = cmp.Or(i.keepAvailable(ctx, from, repo, o.DryRun), err)
	return publish.Result{Plan: publish.Plan{Address: a, Version: v, Tag: artifact.Tag(v)}}, fmt.Errorf("importing %s %s: %w", a, v, missing.after(err))
}

// missing returns a *[MissingPartError] if content of a version is neither in the
// available parts nor in the target. If it returns a different error, the copy would
// also fail with that error.
func (i *importer) missing(ctx context.Context, from *reader, tag string, noReferrers bool) error {
	graph, err := readGraph(ctx, wholeReader{from, noReferrers}, tag)
	if err != nil {
		return err
	}
	var lost []digest.Digest
	for _, d := range graph.Blobs {
		if _, err := from.Stat(ctx, d); err != nil {
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

// keepAvailable calls pushAvailable once for each provider or module, so that a later
// run needs only the remaining parts.
func (i *importer) keepAvailable(ctx context.Context, from *reader, repo repository.Repository, isDryRun bool) error {
	if isDryRun {
		return nil
	}
	_, err := i.pushed.Get(ctx, from.repository.address, func(ctx context.Context) (none struct{}, err error) {
		return none, i.pushAvailable(ctx, from, repo)
	})
	return err
}

// damaged returns a *[MissingPartError] if a copy failed because content of the bundle
// is damaged. For other errors, such as a wrong checksum in the target, it returns nil.
func (i *importer) damaged(ctx context.Context, err error) *MissingPartError {
	mismatch, ok := errors.AsType[*sums.MismatchError](err)
	if !ok {
		return nil
	}
	d := digest.Digest(mismatch.Want)
	if len(i.bundle.verifyContent(ctx, d)) > 0 && ctx.Err() == nil {
		return &MissingPartError{Digests: []digest.Digest{d}, Parts: i.bundle.content[d].Parts, Total: i.bundle.Manifest.Parts, Damaged: true}
	}
	return nil
}

// wholeReader is a repository whose referrers must be complete. Other readers of a
// repository ignore referrers that don't exist, so a version would be imported without
// the referrers in a missing part.
type wholeReader struct {
	*reader
	noReferrers bool
}

// Manifest reads a manifest. If it is in a missing part, the error doesn't wrap
// [repository.ErrNotFound].
func (r wholeReader) Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	if isList := digest.Digest(strings.Replace(reference, "-", ":", 1)).Validate() == nil; isList && r.noReferrers {
		return ocispec.Descriptor{}, nil, repository.ErrNotFound
	}
	d, data, err := r.reader.Manifest(ctx, reference)
	if missing, ok := errors.AsType[*MissingPartError](err); ok {
		err = incompleteError{missing}
	}
	return d, data, err
}

// incompleteError is a *[MissingPartError] that doesn't wrap [repository.ErrNotFound].
type incompleteError struct{ missing *MissingPartError }

func (e incompleteError) Error() string { return e.missing.Error() }

func (e incompleteError) As(target any) bool {
	missing, ok := target.(**MissingPartError)
	if ok {
		*missing = e.missing
	}
	return ok
}

// pushAvailable pushes the available content that is missing from the target. If an
// item is damaged, pushAvailable still pushes the remaining items. It pushes manifests
// as blobs, because registries refuse manifests whose content isn't complete. See
// [reader.target].
func (i *importer) pushAvailable(ctx context.Context, from *reader, to repository.Repository) (failed error) {
	for d := range i.bundle.contentOf(from.repository) {
		if len(i.bundle.positions[d.Digest]) == 0 || from.targetHas(ctx, d) {
			continue
		}
		body, err := repository.Verified(ctx, from, d, "blob "+d.Digest.String())
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

// contentOf returns the descriptors of all content that a repository needs.
func (b *Bundle) contentOf(r Repository) iter.Seq[ocispec.Descriptor] {
	return func(yield func(ocispec.Descriptor) bool) {
		seen := map[digest.Digest]bool{}
		visit := func(d digest.Digest) bool {
			isNew := !seen[d]
			seen[d] = true
			return !isNew || yield(ocispec.Descriptor{Digest: d, Size: b.content[d].Size})
		}
		for _, t := range r.Tags { // for bundles that don't list manifests
			if !visit(t.Digest) {
				return
			}
		}
		for _, d := range slices.Concat(r.Blobs, r.Manifests) {
			if !visit(d) {
				return
			}
		}
	}
}

// StillMissing returns the sorted numbers of the parts that the repositories of the
// given addresses still need. Their content is neither in the available parts nor in
// the repository that open returns. It requests as little as possible: at most one
// missing blob or manifest per part.
func (b *Bundle) StillMissing(ctx context.Context, all []provider.Address, open func(provider.Address) (repository.Reader, error)) ([]int, error) {
	missing := map[int]bool{}
	for _, a := range all {
		repo, err := open(a)
		if err != nil {
			return nil, err
		}
		r, err := b.reader(a, repo)
		if err != nil {
			return nil, err
		}
		for d := range b.contentOf(r.repository) {
			for _, part := range b.MissingParts(d.Digest) {
				if !missing[part] && !r.targetHas(ctx, d) {
					missing[part] = true
				}
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
	}
	return slices.Sorted(maps.Keys(missing)), nil
}
