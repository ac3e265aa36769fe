package serve

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// authorize authorizes a request for the provider or module in the path.
func (s *Server) authorize(x *exchange) error {
	// 1. Parse the path.
	if err := s.locate(x); err != nil {
		return err
	}
	if err := x.parseRelease(); err != nil {
		return err
	}
	// 2. Authorize the caller by the token in the path, or in the same way as for other
	// requests.
	q, token := &x.query, x.r.PathValue("TOKEN")
	if token != "" && token != anonymousToken && !s.options.Rules().AllowAll() {
		return s.checkToken(x, token)
	}
	if err := s.identifyCaller(x); err != nil {
		return err
	}
	if q.caller = x.caller; !q.mayRequest() {
		return q.refusal(q.address)
	}
	return nil
}

// parseRelease sets the version and the platform from the path if the path contains
// them.
func (x *exchange) parseRelease() (err error) {
	text := x.r.PathValue("VERSION")
	if file := x.r.PathValue("FILE"); file != "" {
		name, isJSON := strings.CutSuffix(file, ".json")
		if !isJSON {
			return errUnknownPath
		}
		text = name
	}
	if text == "" {
		return nil
	}
	if x.version, err = provider.ParseVersion(text); err != nil {
		return err
	}
	if x.version.String() != text {
		return &problem{http.StatusNotFound, "invalid version in the path: want " + x.version.String()}
	}
	filename := x.r.PathValue("FILENAME")
	if _, _, platform, ok := provider.ParseFilename(filename); ok && !x.query.isModule() {
		x.platform, err = provider.ParsePlatform(platform)
	}
	if err != nil || filename != "" && filename != x.query.filename(x.version, x.platform) {
		return &problem{http.StatusNotFound, fmt.Sprintf("%s %s has no archive with this file name", x.query.address, x.version)}
	}
	return nil
}

// identifyCaller sets the caller of a request. It rejects invalid tokens and callers who
// exceed the rate limit.
func (s *Server) identifyCaller(x *exchange) error {
	caller, err := s.options.Rules().Identify(x.r.Context(), x.token())
	if tooMany := s.limit(x, caller); tooMany != nil {
		return tooMany
	}
	switch {
	case errors.Is(err, access.ErrUnavailable):
		return withCause(err, http.StatusServiceUnavailable, access.ErrUnavailable.Error())
	case errors.Is(err, access.ErrNoToken):
		return withCause(err, http.StatusUnauthorized, access.ErrNoToken.Error())
	case errors.Is(err, access.ErrInvalidToken):
		return withCause(err, http.StatusUnauthorized, access.ErrInvalidToken.Error())
	case err != nil:
		return err
	}
	x.caller = caller
	return nil
}

// withCause returns a [problem] together with its reason. The reason is logged but not
// sent to the client.
func withCause(reason error, status int, text string) error {
	return errors.Join(&problem{status, text}, reason)
}

// limit enforces the rate limit.
func (s *Server) limit(x *exchange, caller access.Caller) error {
	x.event.Caller = caller.Name
	from, _ := netip.ParseAddr(x.event.Client) // clients without an IP address share a limit
	after, allowed := s.options.Limiter.Allow(caller, from)
	if allowed {
		return nil
	}
	x.Header().Set("Retry-After", fmt.Sprint(int(after/time.Second)))
	return &problem{http.StatusTooManyRequests, "too many requests; try again later"}
}

// token returns the token of a request, or "" if the request has none. Browsers can't
// send bearer tokens, so requests for the API and the pages can use the token as the
// password of basic authentication, with any user name.
func (x *exchange) token() string {
	if _, password, is := x.r.BasicAuth(); is && x.isForAPIOrPage() {
		return password
	}
	scheme, token, _ := strings.Cut(x.r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// isForAPIOrPage reports whether the request is for the API or a page.
func (x *exchange) isForAPIOrPage() bool { return x.api || x.showError != nil }

// challenge sets the headers that request a token.
func (x *exchange) challenge() {
	h := x.Header()
	h.Set("WWW-Authenticate", `Bearer realm="tofu-oci"`)
	if x.isForAPIOrPage() {
		h.Add("WWW-Authenticate", `Basic realm="tofu-oci", charset="UTF-8"`)
	}
}

// client returns the client's address. If the peer isn't a trusted proxy, this is the
// peer's address. Otherwise, it is the last address in X-Forwarded-For that is not a
// trusted proxy. If all addresses are trusted proxies, it is the first address.
func (s *Server) client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	if !s.isTrustedProxy(host) {
		return host
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		hop = strings.TrimSpace(hop)
		if _, err := netip.ParseAddr(hop); err != nil {
			break
		}
		if host = hop; !s.isTrustedProxy(hop) {
			break
		}
	}
	return host
}
