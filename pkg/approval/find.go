package approval

import (
	"context"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Find returns the newest version that meets a requirement and is pending, otherwise
// the newest that is denied; the zero value is neither. It explains why a version is
// missing, and reads the list of tags and, of a denial, the reason: the entry has
// neither digest nor platforms. Errors are the repository's.
func Find(ctx context.Context, repo repository.Reader, wanted provider.Requirement) (Entry, error) {
	tags, err := repo.Tags(ctx)
	if err != nil {
		return Entry{}, err
	}
	for _, v := range artifact.UndecidedVersions(tags) {
		if wanted.Constraint.Allows(v) {
			return Entry{Version: v, State: StatePending, Tag: artifact.PendingTag(v)}, nil
		}
	}
	for _, v := range artifact.DeniedVersions(tags) {
		if wanted.Constraint.Allows(v) {
			record, err := repository.ReadDenial(ctx, repo, v)
			return Entry{Version: v, State: StateDenied, Tag: artifact.DeniedTag(v), Record: &record}, err
		}
	}
	return Entry{}, nil
}
