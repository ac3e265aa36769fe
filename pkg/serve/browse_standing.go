package serve

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// maxBlobLooks is the maximum number of blobs of a release that are checked concurrently.
const maxBlobLooks = 8

// standing describes a release, and whether it is complete. Lists and the page of a version
// both use it, so they show the same status.
func (b *browsing) standing(ctx context.Context, at place, i index) (summary, error) {
	s, err := b.summary(ctx, at, i)
	if err != nil || s.Status != api.StatusComplete {
		return s, err
	}
	// 1. Index and manifests are complete, but blobs can be lost.
	id := i.key(at, provider.Platform{})
	lost, _, err := b.lost.getWithin(ctx, id, max(reportAge, b.options.MaxAge), s.lost)
	if err != nil {
		_, s.Problem = statusOf(err)
		s.Status = api.StatusUnknown
		return s, nil
	}
	if s.Problem = s.incomplete(lost); s.Problem != "" {
		s.Status = api.StatusIncomplete
		return s, nil
	}
	// 2. A report that is already known can contain more errors.
	known, _ := b.reports.lookup(id)
	for _, f := range known.findings {
		if f.Severity == string(finding.Error) {
			s.Status, s.Problem = api.StatusIncomplete, f.Problem
			break
		}
	}
	return s, nil
}

// lost returns the digests of the zips and documents that the repository lacks, or has with
// another size. It requests each once, without reading it.
func (s *summary) lost(ctx context.Context) ([]string, error) {
	sizes := map[string]int64{}
	for _, d := range s.documentsOfAll() {
		sizes[d.Digest] = d.Size
	}
	for _, p := range s.packages {
		sizes[p.Digest] = p.Size
	}
	all := slices.Collect(maps.Keys(sizes))
	isLost := make([]bool, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxBlobLooks)
	for n, d := range all {
		group.Go(func() error {
			size, err := s.repo.Stat(ctx, digest.Digest(d))
			absent := errors.Is(err, repository.ErrNotFound) || errors.Is(err, repository.ErrNoRepository)
			if isLost[n] = absent || size != sizes[d]; absent {
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var lost []string
	for n, d := range all {
		if isLost[n] {
			lost = append(lost, d)
		}
	}
	return lost, nil
}

// incomplete describes the problem of a release that has lost blobs, or returns "".
func (s *summary) incomplete(lost []string) string {
	var platforms, names []string
	for _, p := range s.packages {
		if slices.Contains(lost, p.Digest) {
			platforms = append(platforms, p.Platform)
		}
	}
	for _, d := range s.documentsOfAll() {
		if slices.Contains(lost, d.Digest) {
			names = append(names, d.Name)
		}
	}
	switch {
	case len(platforms) > 0:
		return cannotInstall(platforms)
	case len(names) > 0:
		return clip("documents are lost: "+strings.Join(names, ", "), longText)
	}
	return ""
}
