package approval

import (
	"context"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Find returns the newest pending version that meets a requirement. If no pending
// version meets it, Find returns the newest denied version that meets it. If no denied
// version meets it either, Find returns the zero value. Use Find to explain why a
// version is missing. Find reads only the tag list and the record of a denial, so the
// entry has no digest and no platforms. It returns errors from the repository.
func Find(ctx context.Context, repo repository.Reader, wanted provider.Requirement) (Entry, error) {
	tags, err := repo.Tags(ctx)
	if err != nil {
		return Entry{}, err
	}
	for _, v := range artifact.Tags(tags).Undecided() {
		if wanted.Constraint.Allows(v) {
			return Entry{Version: v, State: publish.Pending, Tag: artifact.PendingTag(v)}, nil
		}
	}
	for _, v := range artifact.Tags(tags).Denied() {
		if wanted.Constraint.Allows(v) {
			record, _, err := repository.ReadDenial(ctx, repo, v)
			return Entry{Version: v, State: publish.Denied, Tag: artifact.DeniedTag(v), Record: &record}, err
		}
	}
	return Entry{}, nil
}
