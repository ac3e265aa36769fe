package repository

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
)

// TestTokenServiceLookup checks that the name of a token service is looked up only if the client
// connects to it directly, and that private addresses are refused then.
func TestTokenServiceLookup(t *testing.T) {
	t.Parallel()
	proxy := &url.URL{Scheme: "http", Host: "proxy.example.com:3128"}
	proxied := &http.Client{Transport: &http.Transport{Proxy: func(req *http.Request) (*url.URL, error) {
		if req.URL.Hostname() == "direct.example.com" { // in NO_PROXY
			return nil, nil
		}
		return proxy, nil
	}}}
	direct := &http.Client{Transport: &http.Transport{}}
	for name, test := range map[string]struct {
		client  *http.Client
		realm   string
		found   string
		lookups int
		private bool
	}{
		"direct, private":          {direct, "https://token.example.com/auth", "10.0.0.7", 1, true},
		"direct, public":           {direct, "https://token.example.com/auth", "192.0.2.1", 1, false},
		"direct, not found":        {direct, "https://token.example.com/auth", "", 1, false},
		"proxied":                  {proxied, "https://token.example.com/auth", "10.0.0.7", 0, false},
		"proxied, private address": {proxied, "https://10.0.0.7/auth", "", 0, true},
		"not proxied, private":     {proxied, "https://direct.example.com/auth", "10.0.0.7", 1, true},
		"own host":                 {direct, "https://registry.example.com/auth", "10.0.0.7", 0, false},
		"other transport, private": {&http.Client{Transport: roundTripper(nil)}, "https://token.example.com/auth", "10.0.0.7", 1, true},
	} {
		lookups := 0
		p := realmPolicy{
			registry: "registry.example.com", isProxied: func(u *url.URL) bool { return httpclient.IsProxied(test.client, u) },
			lookup: func(context.Context, string, string) ([]netip.Addr, error) {
				lookups++
				if test.found == "" {
					return nil, errors.New("no such host")
				}
				return []netip.Addr{netip.MustParseAddr(test.found)}, nil
			},
		}
		realm, err := url.Parse(test.realm)
		if err != nil {
			t.Fatal(err)
		}
		err = p.check(t.Context(), realm, true)
		if refused, ok := errors.AsType[*RealmError](err); ok != test.private || ok && !refused.Private || lookups != test.lookups {
			t.Errorf("%s: %d lookups, %v", name, lookups, err)
		}
	}
}
