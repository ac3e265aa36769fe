package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// clientOf returns a client for a server with the given handler.
func clientOf(t *testing.T, handler http.HandlerFunc) *api.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL + "/tofu/")
	if err != nil {
		t.Fatal(err)
	}
	c, err := api.NewClient(api.ClientOptions{HTTP: server.Client(), URL: u, Token: "canary"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// listed writes a page of providers. next is the URL of the next page.
func listed(w http.ResponseWriter, next string, addresses ...string) {
	w.Header().Set("Content-Type", "application/json")
	var items []string
	for _, a := range addresses {
		items = append(items, fmt.Sprintf(`{"address":%q}`, a))
	}
	_, _ = fmt.Fprintf(w, `{"providers":[%s],"total":3,"next":%q}`, strings.Join(items, ","), next)
}

func TestProviders(t *testing.T) {
	t.Parallel()
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/tofu/api/v1/providers" || r.Header.Get("Authorization") != "Bearer canary" || r.URL.Query().Get("search") != "acme a" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		switch r.URL.Query().Get("page") {
		case "1":
			listed(w, "https://elsewhere.example.com/", "h/acme/a", "h/acme/b") // the client ignores the URL
		default:
			listed(w, "", "h/acme/c")
		}
	})
	got, err := c.Providers(t.Context(), "acme a")
	if err != nil || len(got.Providers) != 3 || got.Providers[2].Address != "h/acme/c" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestProvider(t *testing.T) {
	t.Parallel()
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		page, next := r.URL.Query().Get("page"), "x"
		if page == "3" {
			next = ""
		}
		_, _ = fmt.Fprintf(w, `{"address":"h/acme/a","total":3,"versions":[{"version":"%s.0.0"}],"next":%q}`, page, next)
	})
	got, err := c.Provider(t.Context(), nouns.Address(t, "h.example.com/acme/a"))
	if err != nil || got.Address != "h/acme/a" || len(got.Versions) != 3 || got.Versions[2].Version != "3.0.0" || got.Next != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestHostileServers checks that responses are limited, and that invalid responses
// cause errors.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		is      error
	}{
		"endless pages": {func(w http.ResponseWriter, _ *http.Request) { listed(w, "x", "h/a/b") }, nil},
		"empty pages":   {func(w http.ResponseWriter, _ *http.Request) { listed(w, "x") }, nil},
		"endless page":  {func(w http.ResponseWriter, _ *http.Request) { listed(w, "", strings.Repeat("a", 9<<20)) }, nil},
		"many values": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"providers":[` + strings.Repeat("{},", 300_000) + `{}]}`))
		}, api.ErrNoAPI},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("<"))
		}, api.ErrNoAPI},
		"a page":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, api.ErrNoAPI},
		"no API":    {http.NotFound, api.ErrNoAPI},
		"no token":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, provider.ErrDenied},
		"forbidden": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, provider.ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := clientOf(t, test.handler).Providers(t.Context(), "")
			if err == nil || test.is != nil && !errors.Is(err, test.is) || strings.Contains(err.Error(), "canary") || len(err.Error()) > 2000 {
				t.Errorf("%.300v", err)
			}
		})
	}
}

func TestNotFound(t *testing.T) {
	t.Parallel()
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/providers") {
			listed(w, "", "h/a/b")
			return
		}
		http.NotFound(w, r)
	})
	none := clientOf(t, http.NotFound)
	a := nouns.Address(t, "acme/rocket")
	if _, err := none.Provider(t.Context(), a); !errors.Is(err, api.ErrNoAPI) || errors.Is(err, provider.ErrProviderNotFound) {
		t.Errorf("without an API: %v", err)
	}
	if _, err := c.Provider(t.Context(), a); !errors.Is(err, provider.ErrProviderNotFound) {
		t.Errorf("%v", err)
	}
	if _, err := c.Version(t.Context(), a, nouns.Version(t, "1.0.0")); !errors.Is(err, provider.ErrVersionNotFound) {
		t.Errorf("%v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for text, fine := range map[string]bool{
		"https://tofu.example.com": true, "https://tofu.example.com:8443/base/": true, "http://localhost:8080": true, "http://127.0.0.1:8080": true,
		"http://[::1]:8080": true, "http://plain.example.com": true,
		"http://tofu.example.com": false, "tofu.example.com": false, "ftp://tofu.example.com": false, "https://": false,
		"https://u:p@tofu.example.com": false, "https://tofu.example.com/?a=b": false, "https://tofu.example.com/#a": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = api.NewClient(api.ClientOptions{HTTP: http.DefaultClient, URL: u, PlainHTTP: []string{"plain.example.com"}})
		if (err == nil) != fine || err != nil && strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := api.NewClient(api.ClientOptions{}); err == nil {
		t.Error("client without a server")
	}
}
