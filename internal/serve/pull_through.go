package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// decisionAge is the maximum age of the tag list that is checked before a pull. It
// allows concurrent requests to share a list.
const decisionAge = time.Second

// maxTag is the maximum length of a tag in a registry.
const maxTag = 128

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

// pullDestination returns the repository to which a release is pulled. It is the
// repository that contains other versions of the provider. If no repository contains
// the provider, it is the last repository.
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

// decisions returns the pending and denied versions in all repositories that might
// contain the provider or module. If a repository can't list tags, decisions checks the
// tags of the requested versions.
func (rc *repositoryCache) decisions(ctx context.Context, q query, maxAge time.Duration, requested ...provider.Version) (all taggedVersions, state cacheState, err error) {
	ctx, cancel := context.WithTimeout(ctx, rc.options.timeouts.response)
	defer cancel()
	candidates, err := rc.open(q)
	if err != nil {
		return taggedVersions{}, cacheState{}, err
	}
	for _, in := range candidates {
		known, tagState, err := rc.tags(ctx, in.repo, maxAge)
		if repository.IsUnknownProvider(err) && len(requested) > 0 {
			known, tagState, err = rc.decisionsByTag(ctx, in, maxAge, requested)
		}
		if err == nil && len(known.pending)+len(known.denied) > 0 {
			_, err = rc.owner(ctx, q, listing{candidate: in, taggedVersions: known})
		}
		switch state = state.merge(tagState); {
		case repository.IsUnknownProvider(err) || isForeign(err): // the decisions concern a different provider or module
		case err != nil:
			return taggedVersions{}, state, err
		default:
			all.pending, all.denied = append(all.pending, known.pending...), append(all.denied, known.denied...)
		}
	}
	return all, state, nil
}

// decisionsByTag returns the given versions that are pending or denied in a repository
// that can't list tags.
func (rc *repositoryCache) decisionsByTag(ctx context.Context, in candidate, maxAge time.Duration, versions []provider.Version) (found taggedVersions, state cacheState, err error) {
	exists := func(tag string) bool {
		if len(tag) > maxTag || err != nil {
			return false
		}
		_, tagState, failure := rc.read(ctx, in, tag, maxAge)
		state = state.merge(tagState)
		if failure != nil && !isUnreadable(failure) && !isAbsent(failure) {
			err = failure
		}
		return failure == nil || isUnreadable(failure)
	}
	for _, v := range versions {
		if exists(artifact.DeniedTag(v)) {
			found.denied = append(found.denied, v)
		}
		if exists(artifact.PendingTag(v)) {
			found.pending = append(found.pending, v)
		}
	}
	return found, state, err
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
