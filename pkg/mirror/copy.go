package mirror

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// Copy is like [Run], but copies releases byte for byte from the repositories that from
// returns. It uses [publish.Publisher.Copy] for each release and considers only
// versions that have tags. It calls the function from once for each provider.
//
// A version that its source denies is also denied in the target. See
// [approval.Withdraw].
func Copy(ctx context.Context, from func(provider.Address) (repository.Reader, error), wanted []provider.Requirement, o Options) error {
	if from == nil || o.Target == nil {
		return errors.New("copying: a source and Options.Target are required")
	}
	o = o.withDefaults()
	from = openOnce(wanted, from)
	return RunWith(ctx, oci.New(from), wanted, o, func(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, options publish.Options) (publish.Result, error) {
		source, err := from(a)
		if err != nil {
			return publish.Result{}, err
		}
		done, err := o.Publisher.Copy(ctx, source, repo, a, v, options)
		return o.withdraw(ctx, source, repo, options, done, err)
	})
}

// withdraw denies a version in the target if the source denies the version and the
// target doesn't. See [approval.Withdraw]. It returns the result of the copy, and the
// error of the copy joined with its own error.
func (o Options) withdraw(ctx context.Context, from repository.Reader, to repository.Repository, p publish.Options, done publish.Result, err error) (publish.Result, error) {
	denied, isDenied := errors.AsType[*repository.DeniedError](err)
	record := done.Denial
	if isDenied {
		record = &denied.Record
	}
	if record == nil || record.Repository != from.String() || from.String() == to.String() {
		return done, err
	}
	tags, unlisted := o.Publisher.Reader(to).Tags(ctx)
	has := func(tag string) bool { return slices.Contains(tags, tag) }
	if v := done.Version; unlisted == nil && has(artifact.DeniedTag(v)) && !has(artifact.Tag(v)) && !has(artifact.PendingTag(v)) {
		return done, err
	}
	withdrawn, failed := approval.Withdraw(ctx, to, done.Address, done.Version, *record, approval.DenyOptions{Aliases: p.Aliases, DryRun: p.DryRun, Signer: p.RecordSigner})
	if withdrawn != nil && done.Denial != nil {
		done.Denial = withdrawn
	}
	return done, errors.Join(err, failed)
}

// openOnce returns a function that opens each provider's repository once. The
// repository's tags are also listed only once.
func openOnce(wanted []provider.Requirement, open func(provider.Address) (repository.Reader, error)) func(provider.Address) (repository.Reader, error) {
	listings := &repository.TagCache{}
	opened := map[provider.Address]func() (repository.Reader, error){}
	for _, r := range wanted {
		opened[r.Address] = sync.OnceValues(func() (repository.Reader, error) {
			repo, err := open(r.Address)
			if err != nil {
				return nil, err
			}
			return listings.Reader(repo), nil
		})
	}
	return func(a provider.Address) (repository.Reader, error) { return opened[a]() }
}
