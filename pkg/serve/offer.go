package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

const (
	// maxLooks is how many versions are looked at together for one list.
	maxLooks = 32
	// maxNamed is how many versions a warning names.
	maxNamed = 10
)

// offer is what the registry protocol lists of a provider.
type offer struct {
	repository string
	versions   []offeredVersion
	warnings   []string
}

func (o offer) weight() int64 {
	var weight int64
	for _, v := range o.versions {
		weight += 128 + 40*int64(len(v.Platforms))
	}
	return weight
}

// offer gives the versions that clients would install. To know who signed them each is
// looked at, once: what an index names does not change.
func (s *Server) offer(ctx context.Context, at place) (offer, state, error) {
	return s.known.offers.get(ctx, at.key(), func(ctx context.Context) (offer, error) {
		known, how, err := s.known.list(ctx, at)
		if err == nil && how.stale != nil {
			err = how.stale // who keeps the older list marks it stale
		}
		if err != nil {
			return offer{}, err
		}
		found := make([]*offeredVersion, len(known.versions))
		why := make([]error, len(known.versions))
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(maxLooks)
		for n, v := range known.versions {
			group.Go(func() (err error) {
				found[n], err = s.offered(ctx, at, known.repo, v)
				if isLeftOut(err) || isAbsent(err) || isFormat(err) {
					why[n], err = err, nil
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return offer{}, err
		}
		o := offer{repository: known.repo.String(), versions: []offeredVersion{}, warnings: warnings(known.versions, why)}
		for _, v := range found {
			if v != nil {
				o.versions = append(o.versions, *v)
			}
		}
		if len(o.versions) == 0 && isForeign(why) {
			return offer{}, fmt.Errorf("%w: the repository has another one: %w", provider.ErrProviderNotFound, errors.Join(why...))
		}
		return o, nil
	})
}

// offered looks at one version: its index, and the evidence of its first platform,
// which is that of all where the artifact is ours.
func (s *Server) offered(ctx context.Context, at place, repo repository.Reader, v provider.Version) (*offeredVersion, error) {
	i, _, err := s.known.indexIn(ctx, at, repo, v, max(listAge, s.options.MaxAge))
	if err != nil {
		return nil, err
	}
	platforms := i.Index.Single()
	if len(platforms) == 0 {
		return nil, &leftOutError{at.address, v, "it has no package for any platform"}
	}
	e, err := s.evidenceFor(ctx, at, i, platforms[0])
	if err != nil {
		return nil, err
	}
	o := &offeredVersion{Version: v.String(), Protocols: e.protocols}
	for _, p := range platforms {
		o.Platforms = append(o.Platforms, offeredPlatform{p.OS, p.Arch})
	}
	return o, nil
}

// warnings tell people, in the output of init, what they do not get.
func warnings(versions []provider.Version, why []error) []string {
	var names []string
	var first error
	for n, v := range versions {
		if why[n] == nil {
			continue
		}
		if first == nil {
			first = why[n]
		}
		names = append(names, v.String())
	}
	if first == nil {
		return nil
	}
	if left := len(names) - maxNamed; left > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", left))
	}
	reason := "they hold no provider that can be read"
	if left, ok := errors.AsType[*leftOutError](first); ok {
		reason = left.why
	}
	return []string{fmt.Sprintf("Not all versions can be had here: %s are left out (%s).", strings.Join(names, ", "), reason)}
}

// isForeign tells whether what is wrong is that versions are another provider's.
func isForeign(why []error) bool {
	for _, err := range why {
		if foreign, ok := errors.AsType[*repository.ForeignError](err); ok && foreign.Format == nil {
			return true
		}
	}
	return false
}

func isFormat(err error) bool {
	_, is := errors.AsType[*artifact.FormatError](err)
	return is
}
