package repository

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// RealmError says that no login is sent to the token service that a registry
// names, its "realm" (https://distribution.github.io/distribution/spec/auth/token/).
// [Options.TokenRealms] allows it.
type RealmError struct {
	// Realm is the token service's host, with its port when it is known.
	Realm string
	// Private tells that its address is one that only a network of one's own has.
	// Else the registry that names it is spoken to without TLS, so that it may be
	// anybody who names it.
	Private bool
}

func (e *RealmError) Error() string {
	if e.Private {
		return fmt.Sprintf("the registry names %s as its token service, which is at a private address and not the registry's own host", e.Realm)
	}
	return fmt.Sprintf("the registry, which is spoken to without TLS, names %s as its token service, and the login is not for that host", e.Realm)
}

// Kind is [provider.Refused].
func (e *RealmError) Kind() provider.ErrorKind { return provider.Refused }

// realms sees to it that a login goes to no token service but those that it may
// go to. It is the transport of a repository's requests, token requests included.
//
// The library refuses token services at private addresses unless they have the
// registry's own host name, and has no setting for that. For a service that is
// allowed the challenge is rewritten: the library then asks a stand-in at the
// registry's host, a URL with a fragment that nobody else can know, and the
// request to that goes to the service itself.
type realms struct {
	next http.RoundTripper
	// registry is the host of requests to the registry, with the port if any.
	registry string
	plain    bool
	login    *loginState
	allowed  []string
	// mark begins the fragment of stand-ins.
	mark string
}

// guarded puts the guard over a client's transport.
func guarded(client *http.Client, at registry.Reference, o Options, login *loginState) *http.Client {
	plain := slices.Contains(o.PlainHTTP, at.Registry)
	c := *client
	c.Transport = &realms{next: client.Transport, registry: at.Host(), plain: plain, login: login, allowed: o.TokenRealms, mark: rand.Text() + "="}
	return &c
}

// RoundTrip implements [http.RoundTripper].
func (r *realms) RoundTrip(req *http.Request) (*http.Response, error) {
	r.login.sends(httpclient.SentWith(req))
	realm, isStandIn := strings.CutPrefix(req.URL.Fragment, r.mark)
	if isStandIn {
		req = req.Clone(req.Context())
		req.URL.Host, req.URL.Fragment, req.URL.RawFragment, req.Host = realm, "", "", ""
	}
	if r.plain && carriesLogin(req) && !r.isOwn(req.URL) && !r.allows(req.URL) {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, &RealmError{Realm: req.URL.Host}
	}
	resp, err := r.next.RoundTrip(req)
	switch {
	case err != nil && isStandIn:
		return nil, fmt.Errorf("asking the token service %s: %w", realm, err)
	case err != nil:
		return nil, err
	case isStandIn:
		r.keepRedirect(resp, req.URL)
	case resp.StatusCode == http.StatusUnauthorized && req.URL.Host == r.registry:
		challenges := resp.Header["Www-Authenticate"]
		r.login.challenged(challenges)
		for i, challenge := range challenges {
			challenges[i] = realmOf.ReplaceAllStringFunc(challenge, r.standIn)
		}
	}
	return resp, nil
}

// realmOf is the parameter of a challenge that names the token service.
var realmOf = regexp.MustCompile(`\brealm="[^"\\]*"`)

// standIn gives the parameter with a stand-in for a service that is allowed. A
// service without TLS stays as it is where the registry has TLS: it is refused.
func (r *realms) standIn(parameter string) string {
	text := strings.TrimSuffix(strings.TrimPrefix(parameter, `realm="`), `"`)
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || r.isOwn(u) || !r.allows(u) || u.Scheme != "https" && !r.plain {
		return parameter
	}
	return `realm="` + r.at(u).String() + `"`
}

// at is the stand-in for a URL.
func (r *realms) at(u *url.URL) *url.URL {
	standIn := *u
	standIn.User, standIn.RawFragment = nil, ""
	standIn.Host, standIn.Fragment = r.registry, r.mark+u.Host
	return &standIn
}

// keepRedirect makes the target of a redirect absolute, as it is relative to the
// service and not to the stand-in. Within the service's origin it stays one of
// the service; elsewhere the client looks at it as at any other, and takes the
// login away.
func (r *realms) keepRedirect(resp *http.Response, service *url.URL) {
	to, err := service.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return
	}
	if to.Scheme == service.Scheme && to.Host == service.Host {
		to = r.at(to)
	}
	resp.Header.Set("Location", to.String())
}

// isOwn tells whether a URL is at the registry's own host, on whatever port: the
// library compares so too.
func (r *realms) isOwn(u *url.URL) bool {
	own := url.URL{Host: r.registry}
	return strings.EqualFold(u.Hostname(), own.Hostname())
}

// allows tells whether a login may go to a host. Without a port all of its ports
// are allowed.
func (r *realms) allows(u *url.URL) bool {
	for _, host := range r.allowed {
		if strings.EqualFold(host, u.Host) || strings.EqualFold(strings.Trim(host, "[]"), u.Hostname()) {
			return true
		}
	}
	return false
}

// carriesLogin tells whether a request has a password or a token that buys more
// tokens, which the OAuth2 form has in its body.
func carriesLogin(req *http.Request) bool {
	scheme, _, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	form, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	return strings.EqualFold(scheme, "basic") || req.Method == http.MethodPost && form == "application/x-www-form-urlencoded"
}

// privateRealm is the library's refusal, for which it has no type.
var privateRealm = regexp.MustCompile(`bearer realm host "([^"]*)" (?:is|resolves to) .*private`)

// realmError finds out whether a token service was refused.
func realmError(err error) (*RealmError, bool) {
	if e, ok := errors.AsType[*RealmError](err); ok {
		return e, true
	}
	if found := privateRealm.FindStringSubmatch(err.Error()); found != nil {
		return &RealmError{Realm: found[1], Private: true}, true
	}
	return nil, false
}
