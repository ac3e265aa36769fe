package serve

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxConcurrentReleases limits the number of releases that are read concurrently
	// for one list.
	maxConcurrentReleases = 32
	// maxWarningVersions limits the number of versions in a warning.
	maxWarningVersions = 10
)

// versionsResponse is the version list of the registry protocol.
type versionsResponse struct {
	Versions []offeredVersion `json:"versions"`
	Warnings []string         `json:"warnings,omitempty"`
}

// releaseList contains the versions in a repository for the registry protocol. It
// doesn't depend on the caller.
type releaseList struct {
	listing
	releases []listedRelease
}

// listedRelease is a version. If clients would not install the version, listedRelease
// includes the reason.
type listedRelease struct {
	version    offeredVersion
	omitReason string
	// stored is the address under which the release is stored.
	stored provider.Address
}

func (s releaseList) weight() int64 {
	var weight int64
	for _, r := range s.releases {
		weight += 256 + 40*int64(len(r.version.Platforms))
	}
	return weight
}

// offer returns the installable versions that the caller can read. Its warnings list
// the omitted versions. tofu init prints these warnings.
func (s releaseList) offer(q query) versionsResponse {
	o := versionsResponse{Versions: []offeredVersion{}}
	var names []string
	var reason string
	for _, r := range s.releases {
		switch {
		case !q.caller.MayRead(r.stored):
		case r.omitReason != "":
			reason = cmp.Or(reason, r.omitReason)
			names = append(names, r.version.Version)
		default:
			o.Versions = append(o.Versions, r.version)
		}
	}
	if more := len(names) - maxWarningVersions; more > 0 {
		names = append(names[:maxWarningVersions], fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		o.Warnings = []string{fmt.Sprintf("Some versions are not available from this server: %s. Reason: %s.", strings.Join(names, ", "), reason)}
	}
	return o
}

// releaseList reads the signature of each version. The signatures are cached by index
// digest, because the content of an index never changes.
func (s *Server) releaseList(ctx context.Context, q query) (releaseList, cacheState, error) {
	return s.repos.offers.get(ctx, q.key(), func(ctx context.Context) (releaseList, error) {
		known, state, err := s.repos.find(ctx, q)
		if err == nil && state.stale != nil {
			err = state.stale // makes the cache serve its previous list as stale
		}
		if err != nil {
			return releaseList{}, err
		}
		all := releaseList{known, make([]listedRelease, len(known.versions))}
		err = schedule.All(ctx, maxConcurrentReleases, known.versions, func(ctx context.Context, n int, v provider.Version) error {
			r, err := s.listRelease(ctx, q, known, v)
			if isAbsent(err) || isFormat(err) {
				r.omitReason, err = "no readable provider release", nil
			}
			all.releases[n] = r
			return err
		})
		return all, err
	})
}

// listRelease reads the index of a version and the verification metadata of its first
// platform. In artifacts that tofu-oci writes, all platforms have the same metadata.
func (s *Server) listRelease(ctx context.Context, q query, known listing, v provider.Version) (listedRelease, error) {
	found := listedRelease{version: offeredVersion{Version: v.String()}, stored: known.stored}
	i, _, err := s.repos.release(ctx, q, known, v, max(listAge, s.options.MaxAge))
	if err != nil {
		return found, err
	}
	found.stored = i.stored
	platforms := i.Index.Single()
	if len(platforms) == 0 {
		found.omitReason = "no packages"
		return found, nil
	}
	if err := s.repos.checkApproved(ctx, q, i); err != nil {
		_, found.omitReason = statusOf(err)
		return found, nil // the other versions are still listed
	}
	e, err := s.metadataFor(ctx, q, i, platforms[0])
	found.omitReason, found.version.Protocols = e.omitReason, e.protocols
	for _, p := range platforms {
		found.version.Platforms = append(found.version.Platforms, offeredPlatform{p.OS, p.Arch})
	}
	return found, err
}
