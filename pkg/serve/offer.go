package serve

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxLooks is how many versions are looked at together for one list.
	maxLooks = 32
	// maxNamed is how many versions a warning names.
	maxNamed = 10
)

// offer is the list of the registry protocol.
type offer struct {
	Versions []offeredVersion `json:"versions"`
	Warnings []string         `json:"warnings,omitempty"`
}

// stock has the versions of a repository for the registry protocol, for all callers.
type stock struct {
	listing
	releases []stocked
}

// stocked is a version, with the reason if clients would not install it.
type stocked struct {
	version offeredVersion
	leftOut string
	// stored is the address that it is stored as, or zero if unknown.
	stored provider.Address
}

func (s stock) weight() int64 {
	var weight int64
	for _, r := range s.releases {
		weight += 256 + 40*int64(len(r.version.Platforms))
	}
	return weight
}

// offer returns the installable versions that the caller may read. Its warnings tell
// people, in the output of init, what is missing.
func (s stock) offer(at place) offer {
	o := offer{Versions: []offeredVersion{}}
	var names []string
	var reason string
	for _, r := range s.releases {
		switch {
		case !at.caller.May(r.stored):
		case r.leftOut != "":
			reason = cmp.Or(reason, r.leftOut)
			names = append(names, r.version.Version)
		default:
			o.Versions = append(o.Versions, r.version)
		}
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		o.Warnings = []string{fmt.Sprintf("Not all versions can be had here: %s are left out (%s).", strings.Join(names, ", "), reason)}
	}
	return o
}

// stock reads each version to find out who signed it. It does so once, because the content
// of an index does not change.
func (s *Server) stock(ctx context.Context, at place) (stock, state, error) {
	return s.known.offers.get(ctx, at.key(), func(ctx context.Context) (stock, error) {
		known, how, err := s.known.find(ctx, at)
		if err == nil && how.stale != nil {
			err = how.stale // who keeps the older list marks it stale
		}
		if err != nil {
			return stock{}, err
		}
		all := stock{known, make([]stocked, len(known.versions))}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(maxLooks)
		for n, v := range known.versions {
			group.Go(func() error {
				r, err := s.offered(ctx, at, known, v)
				if isAbsent(err) || isFormat(err) {
					r.leftOut, err = "they hold no provider that can be read", nil
				}
				all.releases[n] = r
				return err
			})
		}
		return all, group.Wait()
	})
}

// offered looks at one version: its index, and the evidence of its first platform,
// which is that of all where the artifact is ours.
func (s *Server) offered(ctx context.Context, at place, known listing, v provider.Version) (stocked, error) {
	found := stocked{version: offeredVersion{Version: v.String()}, stored: known.stored}
	i, _, err := s.known.release(ctx, at, known.candidate, v, max(listAge, s.options.MaxAge))
	if err != nil {
		return found, err
	}
	found.stored = i.stored
	platforms := i.Index.Single()
	if len(platforms) == 0 {
		found.leftOut = "it has no package for any platform"
		return found, nil
	}
	e, err := s.evidenceFor(ctx, at, i, platforms[0])
	found.leftOut, found.version.Protocols = e.leftOut, e.protocols
	for _, p := range platforms {
		found.version.Platforms = append(found.version.Platforms, offeredPlatform{p.OS, p.Arch})
	}
	return found, err
}
