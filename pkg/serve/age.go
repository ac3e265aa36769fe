package serve

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// dateAge is how long a date is believed. It does not change.
	dateAge = 12 * time.Hour
	// maxDated is how many versions are asked for their date for one list. Each costs two
	// requests, once.
	maxDated = 24
	// maxDating is how many of them are asked at once.
	maxDating = 8
)

// oldEnough omits versions that are known to be too young, so that clients choose an older
// one. It requests the dates of versions that a client would choose: the newest of each
// minor version, and the next one if that is too young. A listed version that turns out to
// be too young is refused when it is requested. If there are no others, all are listed, so
// that clients learn the reason.
func (s *Server) oldEnough(ctx context.Context, a provider.Address, versions []provider.Version, others bool) []provider.Version {
	if !s.origins.puller.Waits() {
		return versions
	}
	isYoung := func(v provider.Version) bool {
		date, known := s.origins.dates.lookup(key{address: a, version: v})
		return known && !date.IsZero() && s.origins.puller.Held(a, v, date) != nil
	}
	for asked := 0; asked < maxDated && ctx.Err() == nil; {
		// 1. The versions that a client would choose.
		var undated []provider.Version
		chosen := map[string]bool{}
		for _, v := range provider.NewestFirst(versions) {
			parts := strings.SplitN(v.String(), ".", 3)
			minor := strings.Join(parts[:2], ".")
			if chosen[minor] || isYoung(v) {
				continue
			}
			chosen[minor] = true
			if _, known := s.origins.dates.kept.Lookup(key{address: a, version: v}); !known && asked < maxDated {
				undated = append(undated, v)
				asked++
			}
		}
		// 2. Their dates.
		group := errgroup.Group{}
		group.SetLimit(maxDating)
		for _, v := range undated {
			group.Go(func() error {
				_, _, err := s.origins.dates.get(ctx, key{address: a, version: v}, func(ctx context.Context) (time.Time, error) {
					return s.origins.puller.Date(ctx, a, v)
				})
				return err
			})
		}
		if err := group.Wait(); err != nil || len(undated) == 0 {
			break
		}
	}
	old := slices.DeleteFunc(slices.Clone(versions), isYoung)
	if len(old) == 0 && !others {
		return versions
	}
	return old
}
