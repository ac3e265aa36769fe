package approval

import (
	"context"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// maxConcurrency is the maximum number of versions that are inspected concurrently.
const maxConcurrency = 8

// Pruned is the state of a version that was pruned. [Promote] restores it.
const Pruned publish.Status = "pruned"

// Entry is a version that was staged, denied, or pruned.
type Entry struct {
	Version provider.Version
	// State is Pending, Denied, Pruned, or Promoted. A version that was denied and then
	// staged again is Pending. Promoted means that the version is released, but its
	// pending tag still exists.
	State publish.Status
	// Tag and Digest identify the pending or pruned tag and its index. For a denial,
	// they identify the denial tag and its manifest.
	Tag       string
	Digest    digest.Digest
	Platforms []provider.Platform
	// Record is the denial, or nil.
	Record *repository.DecisionRecord
}

// List returns the pending, denied, and pruned versions of a repository that meet at
// least one of the constraints, newest first. Unlike in other functions, pre-releases
// meet the zero constraint. Without constraints, List returns all versions. It returns
// errors from the repository.
func List(ctx context.Context, repo repository.Reader, constraints ...provider.Constraint) ([]Entry, error) {
	tags, err := repo.Tags(ctx)
	if err != nil {
		return nil, err
	}
	denied := artifact.Tags(tags).Denied()
	released := func(v provider.Version) bool { return slices.Contains(tags, artifact.Tag(v)) }
	pruned := slices.DeleteFunc(artifact.Tags(tags).Pruned(), released)
	versions := provider.NewestFirst(slices.Concat(artifact.Tags(tags).Pending(), denied, pruned))
	versions = slices.DeleteFunc(versions, func(v provider.Version) bool {
		return len(constraints) > 0 && !slices.ContainsFunc(constraints, func(c provider.Constraint) bool { return c.IsZero() || c.Allows(v) })
	})
	entries := make([]Entry, len(versions))
	err = schedule.All(ctx, maxConcurrency, versions, func(ctx context.Context, n int, v provider.Version) (err error) {
		entries[n], err = entry(ctx, repo, v, released(v), slices.Contains(denied, v))
		if err == nil && entries[n].Tag == "" && slices.Contains(pruned, v) {
			entries[n], err = prunedEntry(ctx, repo, v)
		}
		return err
	})
	return slices.DeleteFunc(entries, func(e Entry) bool { return e.Tag == "" }), err
}

// entry returns the entry for a version. If the version has been deleted in the
// meantime, it returns the zero value. released and denied report whether the tags of
// the version and of a denial exist.
func entry(ctx context.Context, repo repository.Reader, v provider.Version, released, denied bool) (e Entry, err error) {
	if denied {
		record, _, err := repository.ReadDenial(ctx, repo, v)
		if err != nil {
			return Entry{}, err
		}
		e = Entry{Version: v, State: publish.Denied, Tag: record.Tag, Digest: record.Digest, Platforms: platformsOf(record), Record: &record}
	}
	i, err := repository.Inspect(ctx, repo, artifact.PendingTag(v), repository.DepthManifests)
	if err != nil || !i.Exists() || i.IsDenial() {
		return e, err
	}
	e = Entry{Version: v, State: publish.Pending, Tag: i.Tag, Digest: i.Digest, Platforms: i.Index.Platforms(), Record: e.Record}
	if released && !denied {
		version, err := repository.Inspect(ctx, repo, artifact.Tag(v), repository.DepthManifests)
		if status, _ := compare(i, version); err == nil && status == publish.Unchanged {
			e.State = publish.Promoted
		}
		return e, err
	}
	return e, nil
}

// prunedEntry returns the entry for a pruned version. If the version has been deleted
// in the meantime, it returns the zero value.
func prunedEntry(ctx context.Context, repo repository.Reader, v provider.Version) (Entry, error) {
	i, err := repository.Inspect(ctx, repo, artifact.PrunedTag(v), repository.DepthIndex)
	if err != nil || !i.Exists() {
		return Entry{}, err
	}
	return Entry{Version: v, State: Pruned, Tag: i.Tag, Digest: i.Digest, Platforms: i.Index.Platforms()}, nil
}

func platformsOf(r repository.DecisionRecord) []provider.Platform {
	var platforms []provider.Platform
	for name := range r.Packages {
		if platform, err := provider.ParsePlatform(name); err == nil {
			platforms = append(platforms, platform)
		}
	}
	return provider.SortPlatforms(platforms)
}
