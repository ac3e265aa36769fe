package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// target is where the releases of a provider go.
type target struct {
	repo    repository.Repository
	options publish.Options
	err     error
}

// newTargets asks where each provider goes, and refuses a repository that another
// has already: at the same time, each would take the other's tags for its own. All
// of them share one pool of transfers, and what is seen of a repository.
func newTargets(wanted []provider.Requirement, o Options) map[provider.Address]target {
	pool := schedule.NewTransfers(cmp.Or(max(o.Concurrency, 0), publish.DefaultConcurrency))
	seen := &publish.Seen{}
	targets, taken := map[provider.Address]target{}, map[string]provider.Address{}
	for _, r := range wanted {
		a := r.Address
		if _, known := targets[a]; known {
			continue
		}
		var t target
		t.repo, t.options, t.err = o.Target(a)
		if t.err == nil {
			name := t.repo.String()
			if other, twice := taken[name]; twice {
				t.err = fmt.Errorf("%s and %s would both go to %s", other, a, name)
			}
			taken[name] = a
		}
		if t.options.Acquire == nil {
			t.options.Acquire = pool.Acquire
		}
		if t.options.Seen == nil {
			t.options.Seen = seen
		}
		targets[a] = t
	}
	return targets
}

// bring brings one release to its target.
type bring func(ctx context.Context, item Item, t target) (publish.Result, error)

// take has one release brought there, and tells begun of it before.
func (t target) take(ctx context.Context, item Item, begun func(Item), bring bring) Result {
	r := Result{Item: item, Err: cmp.Or(item.Err, t.err)}
	if r.Err != nil {
		return r
	}
	r.Repository = t.repo.String()
	if item.Held != nil {
		return r
	}
	begun(item)
	if t.options.Force && !item.isNamed() { // force overrules the denial of a named version only
		r.Err = repository.CheckDenied(ctx, t.options.Seen.Reader(t.repo), item.Version)
	}
	if r.Err == nil {
		r.Published, r.Err = bring(ctx, item, t)
	}
	if denied, ok := errors.AsType[*repository.DeniedError](r.Err); ok && !item.isNamed() {
		record := &denied.Record
		r.Repository = record.Repository // may be the source of a copy
		r.Published, r.Err = publish.Result{
			Address: item.Requirement.Address, Version: item.Version, Status: publish.Denied, Tag: record.Tag, Digest: record.Digest, Denial: record,
		}, nil
	}
	return r
}

// isNamed reports whether the requirement names exactly this version.
func (i Item) isNamed() bool {
	_, exact := i.Requirement.Constraint.Exact()
	return exact
}

// denied returns the versions that the target denies; none if its tags can't be listed.
func (t target) denied(ctx context.Context) ([]provider.Version, error) {
	if t.repo == nil {
		return nil, nil
	}
	tags, err := t.options.Seen.Tags(ctx, t.repo)
	if repository.IsUnlisted(err) {
		err = nil
	}
	return artifact.DeniedVersions(tags), err
}

// has tells whether a version is there, as far as the list of tags tells. What can't
// be told is not.
func (t target) has(ctx context.Context, v provider.Version) bool {
	if t.err != nil {
		return false
	}
	tags, err := t.options.Seen.Tags(ctx, t.repo)
	return err == nil && slices.Contains(tags, artifact.Tag(v))
}
