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

// admitMirrored admits the caller to a provider of the network mirror.
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

// admitPublished admits the caller to a provider of the registry protocol.
func (s *Server) authorizeRegistry(x *exchange) error {
	if err := s.locatePublished(x); err != nil {
		return err
	}
	return s.authorize(x)
}

// admitShown admits the caller to a provider of the API and the pages.
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

// locateMirrored sets the provider of a path of the network mirror protocol.
func (s *Server) locateMirrored(x *exchange) error {
	host, err := x.host()
	if err != nil {
		return err
	}
	if strings.Contains(string(host), ":") {
		return &problem{http.StatusNotFound, "an address whose host has a port is out of the network mirror protocol's reach: clients cannot ask for it"}
	}
	return x.locate(s.mirrored, host)
}

// locatePublished sets the provider of a path of the registry protocol.
func (s *Server) locatePublished(x *exchange) error {
	v, _ := s.viewOf(x.r)
	return x.locate(v, v.as)
}

// host reads the host of a path.
func (x *exchange) host() (svchost.Hostname, error) {
	text := x.r.PathValue("HOST")
	host, err := provider.ParseHost(text)
	if err != nil || string(host) != text && host.ForDisplay() != text {
		return "", &problem{http.StatusNotFound, "the path has no host name, in lower case, where one belongs"}
	}
	return host, nil
}

// locate sets the provider of a path.
func (x *exchange) locate(v *view, host svchost.Hostname) error {
	a, err := provider.ParseAddress(host.ForDisplay() + "/" + x.r.PathValue("NAMESPACE") + "/" + x.r.PathValue("TYPE"))
	if err != nil {
		return &problem{http.StatusNotFound, err.Error()}
	}
	x.query = providerQuery{view: v, address: a, shown: a}
	return nil
}

// readVersion sets the version of a path, if it has one.
func (x *exchange) readVersion() (err error) {
	text := x.r.PathValue("VERSION")
	if text == "" {
		return nil
	}
	x.version, err = provider.ParseVersion(text)
	if err == nil && x.version.String() != text {
		return &problem{http.StatusNotFound, "there is no version of that name; it is written " + x.version.String()}
	}
	return err
}

// viewOf finds what the host that is asked publishes, and whether the rules name it.
func (s *Server) viewOf(r *http.Request) (v *view, named bool) {
	rules := s.options.Rules()
	if rules == nil || len(rules.Hosts) == 0 {
		return s.own, false
	}
	host, err := provider.ParseHost(s.requestHost(r))
	if err != nil {
		return s.own, false
	}
	at := slices.IndexFunc(rules.Hosts, func(h access.Host) bool { return h.Name == host })
	if at < 0 {
		return s.own, false
	}
	return s.viewOfHost(rules.Hosts[at]), true
}

// admit refuses callers who have no right to the provider whatever the repositories
// contain, and callers with too many requests.
func (s *Server) authorize(x *exchange) error {
	if err := s.identifyCaller(x); err != nil {
		return err
	}
	if x.query.caller = x.caller; !x.query.mayRequest() {
		return x.query.refusal(x.query.address)
	}
	return x.readVersion()
}

// identify finds out who asks, and refuses whose token does not count, or who asks too
// often.
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

// because is a problem with its reason, which is for the log alone.
func because(reason error, status int, text string) error {
	return errors.Join(&problem{status, text}, reason)
}

// limit refuses a client who asks too often.
func (s *Server) limit(x *exchange, caller access.Caller) error {
	x.event.Caller = caller.Name
	from, _ := netip.ParseAddr(x.event.Client) // those without an address are one client
	after, allowed := s.options.Limiter.Allow(caller, from)
	if allowed {
		return nil
	}
	x.Header().Set("Retry-After", fmt.Sprint(int(after/time.Second)))
	return &problem{http.StatusTooManyRequests, "there are too many requests of this client"}
}

// token returns the token of a request, empty when it has none. Browsers can't send it as
// clients do: for what people look at it may be the password of a login, whatever the
// user's name is.
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

// forPeople reports whether it is a browser that asks, or may be.
func (x *exchange) mayBeBrowser() bool { return x.api || x.showError != nil }

// challenge says how to send a token.
func (x *exchange) challenge() {
	h := x.Header()
	h.Set("WWW-Authenticate", `Bearer realm="tofu-oci"`)
	if x.mayBeBrowser() {
		h.Add("WWW-Authenticate", `Basic realm="tofu-oci", charset="UTF-8"`)
	}
}

// client is the address of who sent a request: the last that no trusted proxy has.
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
