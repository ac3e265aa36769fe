package approval

import (
	"context"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Find gives the newest version that meets a requirement and waits, else the newest
// that was denied; the zero value is neither. It is for those who miss a version, and
// asks for the list of tags, and for the record of a denial: the entry has neither
// digest nor platforms. Errors are the repository's.
func Find(ctx context.Context, repo repository.Reader, wanted provider.Requirement) (Entry, error) {
	tags, err := repo.Tags(ctx)
	if err != nil {
		return Entry{}, err
	}
	for _, v := range artifact.PendingVersions(tags) {
		e := Entry{Version: v, State: StatePending, Tag: artifact.PendingTag(v)}
		if !wanted.Constraint.Allows(v) {
			continue
		}
		if !slices.Contains(tags, artifact.DeniedTag(v)) {
			return e, nil
		}
		// It waits again; or the registry removes no tags, and this one names the denial.
		if record, err := recordAt(ctx, repo, e.Tag); record == nil {
			return e, err
		}
	}
	var denied []provider.Version
	for _, tag := range tags {
		if v, ok := artifact.ParseDenied(tag); ok && wanted.Constraint.Allows(v) {
			denied = append(denied, v)
		}
	}
	for _, v := range provider.NewestFirst(denied) {
		if record, err := recordAt(ctx, repo, artifact.DeniedTag(v)); record != nil || err != nil {
			return Entry{Version: v, State: StateDenied, Tag: artifact.DeniedTag(v), Record: record}, err
		}
	}
	return Entry{}, nil
}
