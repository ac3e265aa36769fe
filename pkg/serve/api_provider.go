package serve

import (
	"context"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// versionsOnPage is how many versions are on a page.
const versionsOnPage = 20

// apiProvider answers which versions a provider has.
func (s *Server) apiProvider(x *exchange) error {
	found, how, err := s.describeProvider(x)
	if err != nil {
		return err
	}
	return s.answerTagged(x, found, how)
}

// describeProvider gives a page of the versions of a provider.
func (s *Server) describeProvider(x *exchange) (api.Provider, state, error) {
	// 1. What is asked for, and whether the caller may have it.
	at, err := s.shownAt(x)
	if err != nil {
		return api.Provider{}, state{}, err
	}
	page, err := x.page()
	if err != nil {
		return api.Provider{}, state{}, err
	}
	base, err := s.baseText(x)
	if err != nil {
		return api.Provider{}, state{}, err
	}
	// 2. The versions.
	known, how, err := s.known.list(x.r.Context(), at.place)
	if err != nil {
		return api.Provider{}, how, err
	}
	x.answered.Repository = known.repo.String()
	// 3. The page of them.
	items, more := pageOf(known.versions, page, versionsOnPage)
	found := api.Provider{
		ProviderRef: at.ref(base), Total: len(known.versions), Stale: how.stale != nil,
		Versions: s.versionRefs(x.r.Context(), at, known, items), Installation: s.installation(at, base),
	}
	found.Repository, found.Latest = known.repo.String(), newest(known.versions)
	for i := range found.Versions {
		found.Versions[i].URL = at.url(base, found.Versions[i].Version)
	}
	s.addPending(x, &found, at, known)
	if more {
		found.Next = at.url(base) + "?page=" + strconv.Itoa(page+1)
	}
	return found, how, nil
}

// versionRefs looks at versions together.
func (s *Server) versionRefs(ctx context.Context, at shownPlace, known listing, versions []provider.Version) []api.VersionRef {
	refs := make([]api.VersionRef, len(versions))
	s.together(ctx, len(versions), func(ctx context.Context, n int) {
		refs[n] = s.versionRef(ctx, at, known, versions[n])
	})
	return refs
}

// together looks at several things at once, as long as a caller can wait. What is not
// known by then is there for the next one.
func (s *Server) together(ctx context.Context, n int, look func(ctx context.Context, n int)) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	group := errgroup.Group{}
	group.SetLimit(maxLooks)
	for i := range n {
		group.Go(func() error {
			look(ctx, i)
			return nil
		})
	}
	_ = group.Wait() // each says itself what is wrong with it
}

func (s *Server) versionRef(ctx context.Context, at shownPlace, known listing, v provider.Version) api.VersionRef {
	i, _, err := s.known.indexIn(ctx, at.place, known, v, max(reportAge, s.options.MaxAge))
	if problem := brokenBy(err); problem != "" {
		return broken(v, problem).VersionRef
	}
	var found summary
	if err == nil {
		found, err = s.browse.standing(ctx, at.place, i)
	}
	if err != nil {
		_, text := statusOf(err)
		return api.VersionRef{Version: v.String(), Tag: artifact.Tag(v), Platforms: []string{}, Status: api.StatusUnknown, Problem: text}
	}
	return found.VersionRef
}

// installation is the block with which clients install a provider from this server. A
// host that the server publishes needs none, and one with a port is out of a network
// mirror's reach.
func (s *Server) installation(at shownPlace, base string) string {
	if at.as != "" || strings.Contains(string(at.shown.Host), ":") {
		return ""
	}
	p, err := provider.ParsePattern(at.shown.String())
	if err != nil {
		return ""
	}
	return cliconfig.NetworkMirrorBlock(base+"/mirror/", p)
}
