package serve

import (
	"context"
	"fmt"
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

// aged leaves out of a list what is known to be too young, so that clients choose an
// older version. Not all dates are asked for, but those of versions that a client would
// choose: the newest of each minor version, and the next one where that is too young.
// What is listed nevertheless is refused with its reason when it is asked for; so is
// what has no date, and all of it where there is nothing else to choose.
func (s *Server) aged(ctx context.Context, at place, versions []provider.Version, others bool) []provider.Version {
	if !s.origins.puller.Waits() {
		return versions
	}
	for asked := 0; asked < maxDated && ctx.Err() == nil; {
		likely := s.likely(at.address, versions)
		likely = likely[:min(len(likely), maxDated-asked)]
		if len(likely) == 0 || !s.dated(ctx, at.address, likely) {
			break
		}
		asked += len(likely)
	}
	var old []provider.Version
	for _, v := range versions {
		if !s.isYoung(at.address, v) {
			old = append(old, v)
		}
	}
	if len(old) == 0 && !others {
		return versions
	}
	return old
}

// likely gives the newest version of each minor version whose date nobody has asked for,
// if those above it are too young.
func (s *Server) likely(a provider.Address, versions []provider.Version) (likely []provider.Version) {
	settled := map[string]bool{}
	for _, v := range provider.NewestFirst(versions) {
		line := minorOf(v)
		if settled[line] || s.isYoung(a, v) {
			continue
		}
		settled[line] = true
		if _, known := s.origins.dates.kept.Lookup(originKey{a, v}); !known {
			likely = append(likely, v)
		}
	}
	return likely
}

func minorOf(v provider.Version) string {
	var major, minor int
	_, _ = fmt.Sscanf(v.String(), "%d.%d", &major, &minor) // versions have both
	return fmt.Sprint(major, ".", minor)
}

// dated asks for dates, and tells whether all were told.
func (s *Server) dated(ctx context.Context, a provider.Address, versions []provider.Version) bool {
	var group errgroup.Group
	group.SetLimit(maxDating)
	for _, v := range versions {
		group.Go(func() error {
			_, _, err := s.origins.dates.get(ctx, originKey{a, v}, func(ctx context.Context) (time.Time, error) {
				return s.origins.puller.Date(ctx, a, v)
			})
			return err
		})
	}
	return group.Wait() == nil
}

// isYoung tells whether a version is known to be too young.
func (s *Server) isYoung(a provider.Address, v provider.Version) bool {
	date, known := s.origins.dates.lookup(originKey{a, v})
	return known && !date.IsZero() && s.origins.puller.Held(a, v, date) != nil
}
