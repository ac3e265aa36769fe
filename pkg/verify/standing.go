package verify

import (
	"context"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Status says how much of a release is there.
type Status string

const (
	// Complete is a release of which all that was looked at is there.
	Complete Status = "complete"
	// Incomplete is a release of which some packages cannot be installed.
	Incomplete Status = "incomplete"
	// Broken is a tag that names no release of the provider that can be read.
	Broken Status = "broken"
	// Unknown is a release whose repository did not answer.
	Unknown Status = "unknown"
)

// Standing says how much of a release is there.
type Standing struct {
	Version provider.Version
	Status  Status
	// Findings say why the release is not complete, and what repairs it; at most a
	// hundred.
	Findings []finding.Finding
	// Err is why the status is not known.
	Err error
}

// Standings says of each version how much of it is there, many at once and in their
// order. It reads no evidence and judges nothing, so that of the options only Aliases and
// Template count. The error is that of a context that ended.
func Standings(ctx context.Context, repo repository.Reader, address provider.Address, versions []provider.Version, depth repository.Depth, o Options) ([]Standing, error) {
	var all []Standing
	zips := schedule.NewLimiter(maxZips, 0)
	schedule.Each(ctx, len(versions), func(ctx context.Context, i int) (Standing, bool) {
		a := newAudit(repo, zips, address, versions[i], o)
		return a.standing(ctx, depth), true
	}, func(s Standing) { all = append(all, s) })
	return all, ctx.Err()
}

// standing looks as deep as it is asked to.
func (a *audit) standing(ctx context.Context, depth repository.Depth) Standing {
	found, err := repository.Inspect(ctx, a.repo, artifact.Tag(a.version), depth)
	usable, err := a.index(found, err)
	broken := len(a.findings) > 0
	if usable && err == nil {
		for _, platform := range found.Index.Platforms() {
			f := found.At(platform)
			if f.Err == nil {
				f.Err = f.Target.Err() // an index tells as much
			}
			a.manifest(f)
		}
		err = a.blobs(ctx, found)
	}
	s := Standing{Version: a.version, Status: Complete, Findings: a.findings}
	switch {
	case err != nil:
		s.Status, s.Err = Unknown, err
	case broken:
		s.Status = Broken
	case len(a.findings) > 0:
		s.Status = Incomplete
	}
	return s
}
