package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// decisionAge is the maximum age of the tag list that is checked before a pull. It
// allows concurrent requests to share a list.
const decisionAge = time.Second

// maxReason limits the length of the reason in a link, because clients print the link on
// one line.
const maxReason = 300

// originLabel returns the value that identifies an origin in the repository field of
// the log.
func originLabel(a provider.Address) string { return "origin " + a.Host.ForDisplay() }

// isPullThrough reports whether missing versions are pulled from the origin for the
// caller.
func (s *Server) isPullThrough(q query) bool {
	return s.origins != nil && s.origins.puller.Covers(q.origin) && q.caller.MayRead(q.address)
}

// canPullThrough reports whether err means that the repositories don't contain a
// provider, module, or version that its origin might contain.
func (s *Server) canPullThrough(q query, err error) bool {
	absent := errors.Is(err, provider.ErrProviderNotFound) || errors.Is(err, provider.ErrVersionNotFound)
	return absent && !isForeign(err) && s.isPullThrough(q)
}

// upstreamRelease describes a release that only the origin has. The release is refused if
// pulling it failed recently.
func (s *Server) upstreamRelease(x *exchange) (upstreamRelease, cacheState, error) {
	q, v := x.query, x.version
	d, state, err := s.origins.release(x.r.Context(), q.address, v)
	x.event.Repository = originLabel(q.address)
	if err != nil || d.refused != nil {
		return d, state, err
	}
	if d.to, err = s.pullDestination(x.r.Context(), q); err != nil {
		return d, state, err
	}
	_, err = s.checkDecisions(x.r.Context(), q, v, s.options.MaxAge)
	if refused, is := errors.AsType[*pullthrough.RefusedError](err); is {
		d.refused = refused
		return d, state, nil
	}
	d.refused = s.origins.puller.Failure(d.to, q.address, v)
	return d, state, err
}

// pullDestination returns the repository to which a release is pulled. This is the
// repository that contains other versions of the provider or, if there is none, the
// last repository.
func (s *Server) pullDestination(ctx context.Context, q query) (template.Reference, error) {
	candidates, err := s.repos.open(q)
	if err != nil {
		return template.Reference{}, err
	}
	known, _, err := s.repos.find(ctx, q)
	if s.canPullThrough(q, err) {
		return candidates[len(candidates)-1].ref, nil
	}
	return known.ref, err
}

// currentDecisions returns a function that rechecks the decisions about a version.
func (s *Server) currentDecisions(q query, v provider.Version) func(context.Context) error {
	return func(ctx context.Context) error {
		state, err := s.checkDecisions(ctx, q, v, decisionAge)
		if err == nil {
			err = state.stale // fail if the decisions are stale
		}
		return err
	}
}

// checkDecisions returns a *[pullthrough.RefusedError] if a release is pending or denied in
// any of the repositories.
func (s *Server) checkDecisions(ctx context.Context, q query, v provider.Version, maxAge time.Duration) (cacheState, error) {
	decisions, state, err := s.repos.decisions(ctx, q, maxAge, v)
	var reason string
	switch {
	case err != nil:
		return state, err
	case slices.Contains(decisions.denied, v):
		reason = "is denied"
	case slices.Contains(decisions.pending, v):
		reason = "is pending approval"
	default:
		return state, nil
	}
	a := q.origin
	return state, &pullthrough.RefusedError{Address: a, Version: v, Err: fmt.Errorf("%s %s %s", a, v, reason)}
}

// isShownInLink reports whether a link to the archive contains the reason the module
// can't be pulled, because clients print links but not error responses.
func isShownInLink(err error) bool {
	_, isRefused := errors.AsType[*pullthrough.RefusedError](err)
	_, hasFailed := errors.AsType[*pullthrough.FailedError](err)
	return isRefused || hasFailed
}

// linkReason formats a reason for a link. It replaces the characters that clients would
// escape.
func linkReason(reason error) string {
	if reason == nil {
		return ""
	}
	_, text := statusOf(reason)
	if refused, ok := errors.AsType[*pullthrough.RefusedError](reason); ok {
		text = refused.Error()
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune(".:-+=", r):
			return r
		}
		return '_'
	}, text)
	return text[:min(len(text), maxReason)]
}

// withReason inserts a reason into the link to an archive. If the reason is empty, it
// returns the path unchanged.
func withReason(path, reason string) string {
	if reason == "" {
		return path
	}
	i := strings.LastIndexByte(path, '/')
	return path[:i] + "/" + reason + path[i:]
}
