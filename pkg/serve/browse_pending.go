package serve

import (
	"context"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// maxPending is how many releases that wait for approval are shown of a provider.
const maxPending = 20

// addPending adds the releases that wait for approval, for callers who may see them:
// those with a token, where one is needed to read.
func (s *Server) addPending(x *exchange, found *api.Provider, known listing) {
	if !s.options.Rules().Open() && x.caller.Name == "" {
		return
	}
	shown, _ := pageOf(known.pending, 1, maxPending)
	found.MorePending = len(known.pending) - len(shown)
	refs := make([]summary, len(shown))
	s.together(x.r.Context(), len(shown), func(ctx context.Context, n int) {
		refs[n] = s.browse.pendingRef(ctx, x.at, known, shown[n])
	})
	for _, ref := range refs {
		if x.at.caller.May(ref.stored) {
			found.Pending = append(found.Pending, ref.VersionRef)
		}
	}
}

// pendingRef describes a pending release. If it can't be read, the stored address is that
// of the repository's other releases.
func (b *browsing) pendingRef(ctx context.Context, at place, known listing, v provider.Version) summary {
	s, _, err := b.pending.get(ctx, key{view: at.view, address: at.address, version: v}, func(ctx context.Context) (summary, error) {
		found, err := repository.Inspect(ctx, known.repo, artifact.PendingTag(v), repository.DepthManifests)
		switch {
		case err != nil:
			return summary{}, err
		case !found.Exists():
			return summary{}, fmt.Errorf("%w: %s %s does not wait any more", provider.ErrVersionNotFound, at.address, v)
		case found.Lost:
			return broken(v, "its index is missing or damaged"), nil
		case found.Format != nil:
			return broken(v, clip(found.Format.Error(), longText)), nil //nolint:nilerr // it is what is wrong with the release
		}
		i := index{Inspection: found, candidate: known.candidate, version: v}
		if i.stored, err = at.ownerOf(found, known.unstated); err != nil {
			return summary{}, err
		}
		return summarize(at, i, found), nil
	})
	if err != nil {
		_, text := statusOf(at.discreet(err))
		s = broken(v, text)
	}
	switch {
	case isForeign(err):
		s.stored = foreignTo(err)
	case s.repo == nil:
		s.stored = known.stored
	}
	s.Tag, s.Status = artifact.PendingTag(v), api.StatusPending
	return s
}
