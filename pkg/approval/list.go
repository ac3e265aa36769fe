package approval

import (
	"context"
	"slices"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// maxQuestions is how many versions are asked about at once.
const maxQuestions = 8

// State says where the decision about a version stands.
type State string

// The states.
const (
	// StatePending: it is to be decided. A record says that it was denied before.
	StatePending State = "pending"
	// StateDenied: it is denied, for the reason that the record has.
	StateDenied State = "denied"
	// StatePromoted: it is promoted, and only its pending tag is still there.
	StatePromoted State = "promoted"
)

// Entry is a version that was staged.
type Entry struct {
	Version provider.Version
	State   State
	// Tag and Digest are what the entry goes by: the pending tag and its index, or
	// those of the denial.
	Tag       string
	Digest    digest.Digest
	Platforms []provider.Platform
	// Record is the denial, nil where there is none.
	Record *Record
}

// List gives the versions that wait in a repository, and those that were denied,
// newest first. Errors are the repository's.
func List(ctx context.Context, repo repository.Reader) ([]Entry, error) {
	tags, err := repo.Tags(ctx)
	if err != nil {
		return nil, err
	}
	versions := artifact.PendingVersions(tags)
	for _, tag := range tags {
		if v, ok := artifact.ParseDenied(tag); ok {
			versions = append(versions, v)
		}
	}
	versions = provider.NewestFirst(versions)
	entries := make([]Entry, len(versions))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxQuestions)
	for n, v := range versions {
		group.Go(func() (err error) {
			entries[n], err = entry(ctx, repo, v, slices.Contains(tags, artifact.Tag(v)))
			return err
		})
	}
	err = group.Wait()
	return slices.DeleteFunc(entries, func(e Entry) bool { return e.Tag == "" }), err
}

// entry looks at one version; released tells that it has a tag itself. The zero value
// is one that has gone meanwhile.
func entry(ctx context.Context, repo repository.Reader, v provider.Version, released bool) (Entry, error) {
	record, err := Recorded(ctx, repo, v)
	if err != nil {
		return Entry{}, err
	}
	i, err := repository.Inspect(ctx, repo, artifact.PendingTag(v), repository.DepthManifests)
	if err != nil {
		return Entry{}, err
	}
	if i.Exists() && !isFormat(i.Format) {
		e := Entry{Version: v, State: StatePending, Tag: i.Tag, Digest: i.Digest, Platforms: i.Index.Platforms()}
		if record.covers(i.Digest, packages(i, provider.Address{}, v)) {
			e.Record = record
		}
		if released {
			standing, err := repository.Inspect(ctx, repo, artifact.Tag(v), repository.DepthManifests)
			if status, _ := compare(i, standing); err == nil && status == Unchanged {
				e.State = StatePromoted
			}
			return e, err
		}
		return e, nil
	}
	if record == nil {
		return Entry{}, nil
	}
	return Entry{Version: v, State: StateDenied, Tag: record.Tag, Digest: record.Digest, Platforms: platformsOf(*record), Record: record}, nil
}

func platformsOf(r Record) []provider.Platform {
	var platforms []provider.Platform
	for p := range r.Packages {
		platforms = append(platforms, p)
	}
	return provider.SortPlatforms(platforms)
}
