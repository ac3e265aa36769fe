package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// remove updates the sync records of a provider's repositories and then removes
// versions.
func (x *applier) remove(ctx context.Context, u unit) []Result {
	results := make([]Result, len(u.actions))
	changed := map[string]error{}   // by repository
	undeleted := map[string]error{} // by kind of removal and repository
	for i, a := range u.actions {
		r := &results[i]
		r.Action = a
		if r.Err = ctx.Err(); r.Err != nil {
			continue
		}
		x.OnStart(a)
		repo := x.opened[a.Repository]
		err, known := changed[a.Repository]
		if !known {
			err = x.updateRecord(ctx, u, repo, a.Repository)
			changed[a.Repository] = err
		}
		removal := string(a.Kind) + " " + a.Repository
		switch {
		case err != nil:
			r.Err = err
		case undeleted[removal] != nil:
			r.Err = undeleted[removal]
		case a.Kind == PruneTag:
			r.Err = retryOnTagMove(ctx, func() error {
				_, err := repository.Prune(ctx, repo, a.Version, a.From)
				return err
			})
		case a.Kind == Delete:
			r.Err = retryOnTagMove(ctx, func() error { return repository.DeletePruned(ctx, repo, a.Version, a.From) })
		}
		if errors.Is(r.Err, repository.ErrTagNotDeleted) && !errors.Is(r.Err, provider.ErrForbidden) {
			undeleted[removal] = r.Err
			x.keep(r, repo.Capabilities().Registry)
		}
	}
	return results
}

// keep changes the result of an action that couldn't remove a version, because the
// registry doesn't delete tags or manifests. The action isn't a failure, because
// otherwise each run would fail.
func (x *applier) keep(r *Result, registry string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if key := string(r.Action.Kind) + " " + registry; !x.explained[key] {
		x.explained[key] = true
		r.Undeleted = r.Err
	}
	r.Action.Kind, r.Action.Reason, r.Err = Hold, r.Action.Reason+"; kept, because the registry does not delete it", nil
}

// updateRecord writes the dates of all actions for a repository to its sync record
// before any version is removed.
func (x *applier) updateRecord(ctx context.Context, u unit, repo repository.Repository, name string) error {
	if u.failed[name] {
		return errNotRemoved
	}
	var actions []Action
	for _, a := range u.actions {
		if a.Repository == name {
			actions = append(actions, a)
		}
	}
	tags, err := repo.Tags(ctx)
	if err != nil {
		return err
	}
	for _, a := range actions {
		if other := changedTag(tags, a); other != "" {
			return fmt.Errorf("the tag %s was added after this run had selected versions to remove", other)
		}
	}
	return repository.WriteSyncRecord(ctx, repo, func(r *artifact.SyncRecord) { x.edit(r, tags, actions) })
}

// changedTag returns a tag that prevents the removal of a version. If no tag prevents
// the removal, it returns an empty string.
func changedTag(tags artifact.Tags, a Action) string {
	others := []string{artifact.PendingTag(a.Version), artifact.DeniedTag(a.Version)}
	switch a.Kind {
	case PruneTag:
	case Delete:
		others = append(others, artifact.Tag(a.Version))
	default:
		return ""
	}
	for _, tag := range others {
		if slices.Contains(tags, tag) {
			return tag
		}
	}
	return ""
}

// edit adds the dates of actions to a record. It deletes the dates of versions that
// were deleted or are selected again, and keeps dates that another run has added.
func (x *applier) edit(r *artifact.SyncRecord, tags artifact.Tags, actions []Action) {
	now := x.Now().UTC()
	tagged, pruned := set(tags.Tagged()), set(tags.Pruned())
	maps.DeleteFunc(r.Unwanted, func(v provider.Version, _ time.Time) bool { return !tagged[v] && !pruned[v] })
	maps.DeleteFunc(r.Pruned, func(v provider.Version, _ time.Time) bool { return !pruned[v] })
	for _, a := range actions {
		switch a.Kind {
		case Unmark:
			delete(r.Unwanted, a.Version)
		case PruneTag:
			r.Pruned[a.Version] = now
		case Mark:
			dates := r.Unwanted
			if a.Tag != artifact.Tag(a.Version) {
				dates = r.Pruned
			}
			if !isPlausible(dates[a.Version], now) {
				dates[a.Version] = now
			}
		}
	}
}
