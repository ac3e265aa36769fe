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

// mirrorPlace gives the provider of a path of the network mirror, if the caller may
// have it.
func (s *Server) mirrorPlace(x *exchange) (place, error) {
	at, err := s.mirrorAddress(x)
	if err != nil {
		return at, err
	}
	return s.admit(x, at)
}

func (s *Server) mirrorAddress(x *exchange) (place, error) {
	host, err := provider.ParseHost(x.values["HOST"])
	switch {
	case err != nil || string(host) != x.values["HOST"] && host.ForDisplay() != x.values["HOST"]:
		return place{}, &problem{http.StatusNotFound, "the path has no host name, in lower case, where one belongs"}
	case strings.Contains(string(host), ":"):
		return place{}, &problem{http.StatusNotFound, "an address whose host has a port is out of the network mirror protocol's reach: clients cannot ask for it"}
	}
	return placeIn(x, s.mirrored, host)
}

// publishedPlace gives the provider of a path of the registry protocol.
func (s *Server) publishedPlace(x *exchange) (place, error) {
	at, err := s.publishedAddress(x)
	if err != nil {
		return at, err
	}
	return s.admit(x, at)
}

func (s *Server) publishedAddress(x *exchange) (place, error) {
	v, _ := s.viewOf(x.r)
	return placeIn(x, v, v.as)
}

func placeIn(x *exchange, v *view, host svchost.Hostname) (place, error) {
	a, err := x.address(host)
	if err != nil {
		return place{}, &problem{http.StatusNotFound, err.Error()}
	}
	return place{view: v, address: a}, nil
}

// viewOf finds what the host that is asked publishes, and whether the rules name it.
func (s *Server) viewOf(r *http.Request) (v *view, named bool) {
	rules := s.options.Rules()
	if rules == nil || len(rules.Hosts) == 0 {
		return s.own, false
	}
	host, err := provider.ParseHost(s.hostOf(r))
	if err != nil {
		return s.own, false
	}
	at := slices.IndexFunc(rules.Hosts, func(h access.Host) bool { return h.Name == host })
	if at < 0 {
		return s.own, false
	}
	return s.viewOfHost(rules.Hosts[at]), true
}

// admit returns the place with its caller. It refuses callers who have no right to the
// provider whatever the repositories contain, and callers with too many requests.
func (s *Server) admit(x *exchange, at place) (place, error) {
	if err := s.identify(x); err != nil {
		return at, err
	}
	if at.caller = x.caller; !at.mayAsk() {
		return at, at.refusal(at.address)
	}
	return at, nil
}

// identify finds out who asks, and refuses whose token does not count, or who asks too
// often.
func (s *Server) identify(x *exchange) error {
	caller, err := s.options.Rules().Who(x.r.Context(), x.token())
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
	x.answered.Caller = caller.Name
	from, _ := netip.ParseAddr(x.answered.Client) // those without an address are one client
	after, allowed := s.options.Limiter.Allow(caller, from)
	if allowed {
		return nil
	}
	x.w.Header().Set("Retry-After", fmt.Sprint(int(after/time.Second)))
	return &problem{http.StatusTooManyRequests, "there are too many requests of this client"}
}

// token gives the token of a request, empty when it has none. Browsers can't send it as
// clients do: for what people look at it may be the password of a login, whatever the
// user's name is.
func (x *exchange) token() string {
	if _, password, is := x.r.BasicAuth(); is && x.forPeople() {
		return password
	}
	return bearer(x.r)
}

// forPeople tells whether it is a browser that asks, or may be.
func (x *exchange) forPeople() bool { return x.api || x.show != nil }

// challenge says how to send a token.
func (x *exchange) challenge() {
	h := x.w.Header()
	h.Set("WWW-Authenticate", `Bearer realm="tofu-oci"`)
	if x.forPeople() {
		h.Add("WWW-Authenticate", `Basic realm="tofu-oci", charset="UTF-8"`)
	}
}

// bearer gives the token of a request, empty when it has none.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// client is the address of who sent a request: the last that no trusted proxy has.
func (s *Server) client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	if !s.trusted(host) {
		return host
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		hop = strings.TrimSpace(hop)
		if _, err := netip.ParseAddr(hop); err != nil {
			break
		}
		if host = hop; !s.trusted(hop) {
			break
		}
	}
	return host
}
