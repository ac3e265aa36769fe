package httpclient_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
)

// canary records headers that must not be forwarded.
type canary struct {
	*httptest.Server
	got []string
}

func newCanary(t *testing.T, next func() string) *canary {
	t.Helper()
	c := &canary{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.got = append(c.got, fmt.Sprintf("%s a=%q c=%q r=%q", r.URL.Path,
			r.Header.Get("Authorization"), r.Header.Get("Cookie"), r.Header.Get("Referer")))
		if to := next(); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func TestCredentialsStayWithTheFirstHost(t *testing.T) {
	t.Parallel()
	var home, away *canary
	var homeSteps, awaySteps []string
	pop := func(steps *[]string) string {
		if len(*steps) == 0 {
			return ""
		}
		first := (*steps)[0]
		*steps = (*steps)[1:]
		return first
	}
	// Both servers have the address 127.0.0.1 and differ only in the port. net/http
	// considers them the same host.
	home = newCanary(t, func() string { return pop(&homeSteps) })
	away = newCanary(t, func() string { return pop(&awaySteps) })
	homeSteps = []string{"/second", away.URL + "/a"}
	awaySteps = []string{"/b", home.URL + "/back"}

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, home.URL+"/first?sig=secret", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer t")
	req.Header.Set("Cookie", "k=v")
	resp, err := httpclient.Do(newClient(t, httpclient.Options{}), req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	wantHome := []string{
		`/first a="Bearer t" c="k=v" r=""`,
		`/second a="Bearer t" c="k=v" r=""`,
		`/back a="" c="" r=""`,
	}
	if diff := cmp.Diff(wantHome, home.got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`/a a="" c="" r=""`, `/b a="" c="" r=""`}, away.got); diff != "" {
		t.Error(diff)
	}
}

func TestRedirectsAreBounded(t *testing.T) {
	t.Parallel()
	for hops, want := range map[int]string{10: "<nil>", 11: "more than 10 redirects"} {
		t.Run(fmt.Sprint(hops), func(t *testing.T) {
			t.Parallel()
			left := hops
			s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
				if left--; left >= 0 {
					http.Redirect(w, r, "/?sig=secret", http.StatusFound)
				}
			})
			_, err := get(t, newClient(t, httpclient.Options{}), s.url(t))
			if got := fmt.Sprint(err); !strings.HasSuffix(got, want) || strings.Contains(got, "secret") {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestRedirectNeverLeavesHTTPS(t *testing.T) {
	t.Parallel()
	plain := newScript(t, respond("in the clear"))
	s := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	t.Cleanup(s.Close)
	_, err := get(t, newClient(t, httpclient.Options{CAFile: caFile(t, s)}), parse(t, s.URL))
	if err == nil || !strings.Contains(err.Error(), "redirected from https to http") {
		t.Errorf("got %v", err)
	}
	if plain.requests() != 0 {
		t.Error("the server without TLS received a request")
	}
}
