package approval

import (
	"context"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// maxConcurrency is the number of versions that are inspected concurrently.
const maxConcurrency = 8

// maxApproval is the maximum size of an approval in bytes.
const maxApproval = 64 << 10

// Pruned is the state of a version that was pruned. [Promote] restores it.
const Pruned publish.Status = "pruned"

// Entry is a version that was staged, denied, or pruned.
type Entry struct {
	Version provider.Version
	// State is Pending, Denied, Pruned, or Promoted. A version that was denied and then
	// staged again is Pending. Promoted means that the version is released and only its
	// pending tag still exists.
	State publish.Status
	// Tag and Digest identify the pending or pruned tag and its index. For a denial,
	// they identify the denial's tag and manifest.
	Tag       string
	Digest    digest.Digest
	Platforms []provider.Platform
	// Record is the denial, or nil.
	Record *repository.DenialRecord
}

// List returns the pending, denied, and pruned versions of a repository, newest first. It returns
// the errors of the repository.
func List(ctx context.Context, repo repository.Reader) ([]Entry, error) {
	tags, err := repo.Tags(ctx)
	if err != nil {
		return nil, err
	}
	denied := artifact.Tags(tags).Denied()
	released := func(v provider.Version) bool { return slices.Contains(tags, artifact.Tag(v)) }
	pruned := slices.DeleteFunc(artifact.Tags(tags).Pruned(), released)
	versions := provider.NewestFirst(slices.Concat(artifact.Tags(tags).Pending(), denied, pruned))
	entries := make([]Entry, len(versions))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrency)
	for n, v := range versions {
		group.Go(func() (err error) {
			entries[n], err = entry(ctx, repo, v, released(v), slices.Contains(denied, v))
			if err == nil && entries[n].Tag == "" && slices.Contains(pruned, v) {
				entries[n], err = prunedEntry(ctx, repo, v)
			}
			return err
		})
	}
	err = group.Wait()
	return slices.DeleteFunc(entries, func(e Entry) bool { return e.Tag == "" }), err
}

// entry returns the entry of a version. If the version has been deleted in the
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

// prunedEntry returns the entry of a pruned version. If the version has been deleted in
// the meantime, it returns the zero value.
func prunedEntry(ctx context.Context, repo repository.Reader, v provider.Version) (Entry, error) {
	i, err := repository.Inspect(ctx, repo, artifact.PrunedTag(v), repository.DepthIndex)
	if err != nil || !i.Exists() {
		return Entry{}, err
	}
	return Entry{Version: v, State: Pruned, Tag: i.Tag, Digest: i.Digest, Platforms: i.Index.Platforms()}, nil
}

// Approvals returns the approvals among the documents that refer to a release. It
// ignores other documents.
func Approvals(ctx context.Context, documents []provider.Document) ([]artifact.Approval, error) {
	var approvals []artifact.Approval
	for _, d := range documents {
		if d.MediaType != artifact.TypeApproval || d.Size > maxApproval {
			continue
		}
		data, err := d.Read(ctx)
		if err != nil {
			return nil, err
		}
		if a, err := artifact.ParseApproval(data); err == nil {
			approvals = append(approvals, a)
		}
	}
	return approvals, nil
}

func platformsOf(r repository.DenialRecord) []provider.Platform {
	return provider.SortPlatforms(slices.Collect(maps.Keys(r.Packages)))
}
