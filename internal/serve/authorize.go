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

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// authorizeMirror authorizes a network mirror protocol request.
func (s *Server) authorizeMirror(x *exchange) error {
	if file := x.r.PathValue("FILE"); file != "" {
		version, isJSON := strings.CutSuffix(file, ".json")
		if !isJSON {
			return s.unknown(x)
		}
		x.r.SetPathValue("VERSION", version)
	}
	if err := s.locateMirrored(x); err != nil {
		return err
	}
	return s.authorize(x)
}

// authorizeRegistry authorizes a registry protocol request.
func (s *Server) authorizeRegistry(x *exchange) error {
	if err := s.locatePublished(x); err != nil {
		return err
	}
	return s.authorize(x)
}

// authorizeBrowsing authorizes a request for the API or a page.
func (s *Server) authorizeBrowsing(x *exchange) error {
	host, err := x.host()
	if err != nil {
		return err
	}
	if err := x.locate(s.mirrored, host); err != nil {
		return err
	}
	for _, h := range s.publishedHosts() {
		if h.Name == host {
			x.query.view = s.viewOfHost(h)
			x.query.address.Host = x.query.as
		}
	}
	return s.authorize(x)
}

// locateMirrored sets the provider from a path of the network mirror protocol.
func (s *Server) locateMirrored(x *exchange) error {
	host, err := x.host()
	if err != nil {
		return err
	}
	if strings.Contains(string(host), ":") {
		return &problem{http.StatusNotFound, "the network mirror protocol does not support hosts with a port"}
	}
	return x.locate(s.mirrored, host)
}

// locatePublished sets the provider from a path of the registry protocol.
func (s *Server) locatePublished(x *exchange) error {
	v, _ := s.viewOf(x.r)
	return x.locate(v, v.as)
}

// host parses the host in the path.
func (x *exchange) host() (svchost.Hostname, error) {
	text := x.r.PathValue("HOST")
	host, err := provider.ParseHost(text)
	if err != nil || string(host) != text && host.ForDisplay() != text {
		return "", &problem{http.StatusNotFound, "invalid host in the path: want a host name in lower case"}
	}
	return host, nil
}

// locate sets the provider from the path.
func (x *exchange) locate(v *view, host svchost.Hostname) error {
	a, err := provider.ParseAddress(host.ForDisplay() + "/" + x.r.PathValue("NAMESPACE") + "/" + x.r.PathValue("TYPE"))
	if err != nil {
		return &problem{http.StatusNotFound, err.Error()}
	}
	x.query = providerQuery{view: v, address: a, shown: a}
	return nil
}

// readVersion sets the version from the path if the path contains one.
func (x *exchange) readVersion() (err error) {
	text := x.r.PathValue("VERSION")
	if text == "" {
		return nil
	}
	x.version, err = provider.ParseVersion(text)
	if err == nil && x.version.String() != text {
		return &problem{http.StatusNotFound, "invalid version in the path: want " + x.version.String()}
	}
	return err
}

// viewOf returns the view for the requested host. It also reports whether the access
// rules define this host.
func (s *Server) viewOf(r *http.Request) (v *view, isPublished bool) {
	h, found := s.publishedHost(r)
	if !found {
		return s.own, false
	}
	return s.viewOfHost(h), true
}

// publishedHost returns the requested host if the access rules define it.
func (s *Server) publishedHost(r *http.Request) (access.Host, bool) {
	host, err := provider.ParseHost(s.requestHost(r))
	if err != nil {
		return access.Host{}, false
	}
	return s.publishedHostOf(host)
}

// publishedHostOf returns the host with the given name if the access rules define it.
func (s *Server) publishedHostOf(name svchost.Hostname) (access.Host, bool) {
	for _, h := range s.publishedHosts() {
		if h.Name == name {
			return h, true
		}
	}
	return access.Host{}, false
}

// authorize rejects callers who can't read any release of the provider, and callers who
// exceed the rate limit.
func (s *Server) authorize(x *exchange) error {
	if err := s.identifyCaller(x); err != nil {
		return err
	}
	if x.query.caller = x.caller; !x.query.mayRequest() {
		return x.query.refusal(x.query.address)
	}
	return x.readVersion()
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
		return because(err, http.StatusServiceUnavailable, access.ErrUnavailable.Error())
	case errors.Is(err, access.ErrNoToken):
		return because(err, http.StatusUnauthorized, access.ErrNoToken.Error())
	case errors.Is(err, access.ErrDenied):
		return because(err, http.StatusUnauthorized, access.ErrDenied.Error())
	case err != nil:
		return err
	}
	x.caller = caller
	return nil
}

// because returns a [problem] together with its reason. The reason is logged but not
// sent to the client.
func because(reason error, status int, text string) error {
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
	if _, password, is := x.r.BasicAuth(); is && x.mayBeBrowser() {
		return password
	}
	scheme, token, _ := strings.Cut(x.r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// mayBeBrowser reports whether the request is for the API or a page.
func (x *exchange) mayBeBrowser() bool { return x.api || x.showError != nil }

// challenge sets the headers that request a token.
func (x *exchange) challenge() {
	h := x.Header()
	h.Set("WWW-Authenticate", `Bearer realm="tofu-oci"`)
	if x.mayBeBrowser() {
		h.Add("WWW-Authenticate", `Basic realm="tofu-oci", charset="UTF-8"`)
	}
}

// client returns the client's address. If the peer is a trusted proxy, this is the last
// address in X-Forwarded-For that is not a trusted proxy or, if all of them are, the
// first address. Otherwise, it is the peer's address.
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
