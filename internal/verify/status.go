package verify

import (
	"context"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// ReleaseStatus is the status of a release in a repository.
type ReleaseStatus struct {
	Version provider.Version
	// Status is one of these: "complete", "incomplete" if some packages cannot be
	// installed, "broken" if the tag does not point to a readable release of the
	// provider, or "unknown" if the repository did not respond.
	Status string
	// Findings contains at most 100 findings that explain why the release is not
	// complete.
	Findings []finding.Finding
	// Err is the reason the status is unknown.
	Err error
}

// Statuses returns the status of each version, in the given order. It does not verify
// signatures or documents, so it uses only the options Aliases and Template. If the
// context is canceled, Statuses returns the context's error and the statuses that were
// determined so far.
func Statuses(ctx context.Context, repo repository.Reader, address provider.Address, versions []provider.Version, depth repository.Depth, o Options) ([]ReleaseStatus, error) {
	var all []ReleaseStatus
	zips := schedule.NewLimiter(maxZips, 0)
	schedule.Each(ctx, len(versions), func(ctx context.Context, i int) (ReleaseStatus, bool) {
		a := newVerification(repo, zips, address, versions[i], o)
		return a.status(ctx, depth), true
	}, func(s ReleaseStatus) { all = append(all, s) })
	return all, ctx.Err()
}

// status inspects the release to the given depth and returns its status.
func (a *verification) status(ctx context.Context, depth repository.Depth) ReleaseStatus {
	found, err := repository.Inspect(ctx, a.repo, artifact.Tag(a.version), depth)
	usable, err := a.index(found, err)
	broken := len(a.findings) > 0
	if usable && err == nil {
		for _, platform := range found.Index.Platforms() {
			f := found.At(platform)
			if f.Err == nil {
				f.Err = f.Target.Err() // the index contains enough information
			}
			a.manifest(f)
		}
		err = a.blobs(ctx, found)
	}
	s := ReleaseStatus{Version: a.version, Status: "complete", Findings: a.findings}
	switch {
	case err != nil:
		s.Status, s.Err = "unknown", err
	case broken:
		s.Status = "broken"
	case len(a.findings) > 0:
		s.Status = "incomplete"
	}
	return s
}
