package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
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

// withOrigin returns the versions that only the origin has, except versions that are
// pending, denied, known to be too young, or known to have no files. It concurrently
// calls stored to get the versions in the repositories, because clients don't wait long
// enough for two consecutive requests. If the origin doesn't respond, withOrigin
// returns no versions.
func (s *Server) withOrigin(ctx context.Context, q originRequest, stored func() ([]provider.Version, cacheState, error)) (upstream []provider.Version, state cacheState, err error) {
	if !s.isPullThrough(q) {
		_, state, err := stored()
		return nil, state, err
	}
	originCtx, cancel := context.WithTimeout(ctx, s.options.timeouts.response) // starts here to include the time of all requests
	defer cancel()
	var group sync.WaitGroup
	var decisions taggedVersions
	var originState cacheState
	var originErr, decisionsErr error
	group.Go(func() { upstream, originState, originErr = s.origins.versions(ctx, q.originAddress()) })
	group.Go(func() { decisions, _, decisionsErr = s.repos.decisions(ctx, q, s.options.MaxAge) })
	known, state, err := stored()
	group.Wait()
	originErr = cmp.Or(decisionsErr, originErr)
	switch {
	case err != nil && !s.canPullThrough(q, err), isAbsent(originErr):
		return nil, state, err
	case originErr != nil && err == nil:
		return nil, state.merge(cacheState{stale: originErr}), nil
	case originErr != nil:
		return nil, state, originErr
	}
	taken := slices.Concat(known, decisions.pending, decisions.denied)
	upstream = slices.DeleteFunc(slices.Clone(upstream), func(v provider.Version) bool {
		return slices.Contains(taken, v) || s.origins.puller.IsBroken(q.originAddress(), v)
	})
	return s.filterByAge(originCtx, q.originAddress(), upstream, len(known) > 0), state.merge(originState), nil
}

// pullDestination returns the repository to which a release is pulled. It is the
// repository that contains other versions of the provider. If no repository contains
// the provider, it is the last repository.
func (s *Server) pullDestination(ctx context.Context, q providerQuery) (template.Reference, error) {
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

// upstreamRelease describes a release that only the origin has. If pulling the release
// failed recently, it returns this failure.
func (s *Server) upstreamRelease(x *exchange) (upstreamRelease, cacheState, error) {
	q, v := x.query, x.version
	d, state, err := s.origins.release(x.r.Context(), q.address, v)
	x.event.Repository = originLabel(q.address)
	if err != nil || d.refused != nil {
		return d, state, err
	}
	to, err := s.pullDestination(x.r.Context(), q)
	if err != nil {
		return d, state, err
	}
	_, err = s.checkDecisions(x.r.Context(), q, v, s.options.MaxAge)
	if refused, is := errors.AsType[*pullthrough.RefusedError](err); is {
		d.refused = refused
		return d, state, nil
	}
	d.refused = s.origins.puller.Failure(to, q.address, v)
	return d, state, err
}

// checkDecisions returns a *[pullthrough.RefusedError] if a release is pending or denied in
// any of the repositories.
func (s *Server) checkDecisions(ctx context.Context, q originRequest, v provider.Version, maxAge time.Duration) (cacheState, error) {
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
	a := q.originAddress()
	return state, &pullthrough.RefusedError{Address: a, Version: v, Err: fmt.Errorf("%s %s %s", a, v, reason)}
}

// upstreamMirrorVersion is the variant of mirrorVersion for a release that only the
// origin has. If the release is refused, the links contain the reason, because clients
// print links but not error responses.
func (s *Server) upstreamMirrorVersion(x *exchange, absent error) error {
	d, state, err := s.upstreamRelease(x)
	if isAbsent(err) {
		return absent
	}
	if err != nil {
		return err
	}
	archives := map[string]mirrorArchive{}
	for _, p := range d.Packages {
		path := withReason(s.tokenPath(x, x.query.address, p.Filename), linkReason(d.refused))
		// The h1: hash is omitted because the origin doesn't sign it.
		archives[p.Platform.String()] = mirrorArchive{URL: mirrorLink(path), Hashes: []string{sums.ZH(p.Digest)}}
	}
	return x.respondJSON(mirrorArchives{archives}, state)
}

// upstreamSignedPackage is the variant of signedPackage for a release that only the
// origin has.
func (s *Server) upstreamSignedPackage(x *exchange) (signedPackage, error) {
	d, state, err := s.upstreamRelease(x)
	if err != nil {
		return signedPackage{}, err
	}
	pkg, err := d.Package(x.platform)
	if err != nil {
		return signedPackage{}, err
	}
	r := d.Release
	r.Packages = []provider.Package{pkg}
	e, err := s.repos.evidenceOf(x.r.Context(), r)
	if e.omitReason != "" && d.refused != nil {
		return signedPackage{}, d.refused
	}
	return signedPackage{e, state, x.query.address, linkReason(d.refused)}, err
}

// pull responds with the zip of a release that only the origin has, and mirrors the
// release at the same time. If the repository already contains the release, pull
// returns [pullthrough.ErrStored].
func (s *Server) pull(x *exchange) error {
	d, state, err := s.upstreamRelease(x)
	if err != nil {
		return err
	}
	if d.refused != nil {
		return d.refused
	}
	pkg, err := d.Package(x.platform)
	if err != nil {
		return err
	}
	if x.r.Method == http.MethodHead { // HEAD requests don't mirror the release
		s.describe(x, pkg, state)
		if pkg.Size >= 0 {
			x.Header().Set("Content-Length", strconv.FormatInt(pkg.Size, 10))
		}
		return nil
	}
	to, err := s.pullDestination(x.r.Context(), x.query)
	if err != nil {
		return err
	}
	zip, err := s.origins.puller.Fetch(x.r.Context(), to, d.Release, x.platform, s.currentDecisions(x.query, x.version))
	if err != nil {
		return err
	}
	defer zip.Close()
	x.event.Repository = zip.Repository.String()
	s.describe(x, zip.Package, state)
	if zip.File == nil {
		return s.send(x, storedPackage{repo: zip.Repository, zip: artifact.ZipDescriptor(zip.Package), pkg: zip.Package})
	}
	return s.sendContent(x, &content{
		ctx: x.r.Context(), size: zip.Package.Size, digest: zip.Package.Digest, name: zip.Package.Filename,
		isSeekable: true, file: zip.File, onVerified: func() {},
	})
}

// currentDecisions returns a function that rechecks the decisions about a version.
func (s *Server) currentDecisions(q originRequest, v provider.Version) func(context.Context) error {
	return func(ctx context.Context) error {
		state, err := s.checkDecisions(ctx, q, v, decisionAge)
		if err == nil {
			err = state.stale // fail if the decisions are stale
		}
		return err
	}
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

const (
	// dateAge is the maximum age of a cached date. Dates don't change.
	dateAge = 12 * time.Hour
	// maxDates limits the number of dates that are requested for one list. Each date
	// requires two requests, and is then cached.
	maxDates = 24
	// maxConcurrentDates limits the number of concurrent requests for dates.
	maxConcurrentDates = 8
)

// filterByAge removes versions that are known to be too young, so that clients choose
// an older version. It requests the dates of the versions that a client would choose.
// These are the newest version of each minor version and, if that version is too young,
// the next older version. Other versions are checked when they are requested. If no
// version is old enough and hasOthers is false, filterByAge returns all versions, so
// that clients learn the reason.
func (s *Server) filterByAge(ctx context.Context, a provider.Address, versions []provider.Version, hasOthers bool) []provider.Version {
	if !s.origins.puller.HasMinAge() {
		return versions
	}
	isYoung := func(v provider.Version) bool {
		date, known := s.origins.dates.lookup(key{address: a, version: v})
		return known && !date.IsZero() && s.origins.puller.CheckAge(a, v, date) != nil
	}
	for requested := 0; requested < maxDates && ctx.Err() == nil; {
		// 1. Find the versions that a client would choose.
		var undated []provider.Version
		chosen := map[string]bool{}
		for _, v := range provider.NewestFirst(versions) {
			parts := strings.SplitN(v.String(), ".", 3)
			minor := strings.Join(parts[:2], ".")
			if chosen[minor] || isYoung(v) {
				continue
			}
			chosen[minor] = true
			if _, known := s.origins.dates.kept.Lookup(key{address: a, version: v}); !known && requested < maxDates {
				undated = append(undated, v)
				requested++
			}
		}
		// 2. Request the dates of these versions.
		err := schedule.All(ctx, maxConcurrentDates, undated, func(_ context.Context, _ int, v provider.Version) error { // after a failure, the other requests continue
			_, _, err := s.origins.dates.get(ctx, key{address: a, version: v}, func(ctx context.Context) (time.Time, error) {
				return s.origins.puller.Date(ctx, a, v)
			})
			return err
		})
		if err != nil || len(undated) == 0 {
			break
		}
	}
	old := slices.DeleteFunc(slices.Clone(versions), isYoung)
	if len(old) == 0 && !hasOthers {
		return versions
	}
	return old
}
