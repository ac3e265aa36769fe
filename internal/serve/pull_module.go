package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// errMirroring is returned if a module is still being mirrored after the response timeout.
var errMirroring = errors.New("the module is still being mirrored")

// moduleOrPull returns the requested version of a module. If no repository contains the
// version, moduleOrPull first mirrors it from its registry. Packages in git repositories
// and archives must be packed again, so clients wait until the repository contains the
// entire package.
func (s *Server) moduleOrPull(x *exchange) (found moduleRelease, state cacheState, err error) {
	found, state, err = s.module(x)
	if !s.canPullThrough(x.module, err) {
		return found, state, err
	}
	if err := s.pullModule(x, found.moduleListing, err); err != nil {
		return found, state, err
	}
	return s.module(x)
}

// pullModule mirrors the requested version to a repository. If the origin doesn't have
// the version, pullModule returns the error absent.
func (s *Server) pullModule(x *exchange, to moduleListing, absent error) error {
	a, v := x.module.originAddress(), x.version
	x.event.Repository = originLabel(a)
	ctx, cancel := context.WithTimeoutCause(x.r.Context(), s.options.timeouts.response, errMirroring)
	defer cancel()
	versions, _, err := s.origins.versions(ctx, a)
	if isAbsent(err) || err == nil && !slices.Contains(versions, v) {
		return absent
	}
	var published time.Time
	if err == nil && s.origins.puller.HasMinAge() {
		published, err = s.origins.puller.Date(ctx, a, v)
	}
	if err == nil {
		err = s.origins.puller.Mirror(ctx, to.ref, provider.Release{Address: a, Version: v, Published: published}, s.currentDecisions(x.module, v))
	}
	if errors.Is(err, errMirroring) {
		err = because(err, http.StatusServiceUnavailable, fmt.Sprintf("%s %s is still being mirrored; try again later", a, v))
	}
	return err
}

// isShownInLink reports whether a link to the archive contains the reason the module
// can't be pulled, because clients print links but not error responses.
func isShownInLink(err error) bool {
	_, isRefused := errors.AsType[*pullthrough.RefusedError](err)
	_, hasFailed := errors.AsType[*pullthrough.FailedError](err)
	return isRefused || hasFailed
}
