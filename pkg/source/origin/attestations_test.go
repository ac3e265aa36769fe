package origin_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/snappy"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/sigstore"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

const slsa = "https://slsa.dev/provenance/v1"

// hostedWorld is a world with a release 1.2.3 that is hosted on GitHub.
type hostedWorld struct {
	*world
	github *origintest.GitHub
	host   string
	zips   [2]digest.Digest // haiku, plan9
	sums   string
}

func newHostedWorld(t *testing.T, token string) *hostedWorld {
	t.Helper()
	return hosted(t, newWorld(t, origintest.Options{}), token)
}

// hosted adds GitHub to a world.
func hosted(t *testing.T, in *world, token string) *hostedWorld {
	t.Helper()
	var l net.Listener
	if in.network != nil {
		l = in.network.Listen("localhost:9443")
	}
	w := &hostedWorld{world: in, sums: "terraform-provider-thing_1.2.3_SHA256SUMS"}
	w.github = origintest.NewGitHub(w.origin)
	server := serveOn(t, w.ca, w.github, l)
	w.host = strings.TrimPrefix(server.URL, "https://")
	w.address = address(t, w.host+"/acme/thing")
	r := w.release()
	r.Edit = w.github.Edit
	w.add(t, r)
	var err error
	if w.options.GitHub, err = origin.GitHubFromEnv(w.github.Env(w.host, token)); err != nil {
		t.Fatal(err)
	}
	w.zips = [2]digest.Digest{digest.FromBytes(w.world.zips[haiku]), digest.FromBytes(w.world.zips[plan9])}
	return w
}

// attestations returns the predicate types of the attestations of the zips, and how many
// bundles cover SHA256SUMS.
func (w *hostedWorld) attestations(t *testing.T) (types [2][]string, sums int, err error) {
	t.Helper()
	s := w.source()
	r, err := s.Release(t.Context(), w.address, version(t, "1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Capabilities().Attestations(t.Context(), r)
	for i, d := range w.zips {
		for _, document := range found[d] {
			b, err := sigstore.Parse(document.Bytes)
			if err != nil || !b.Covers(d) || document.Kind != provider.KindSigstore || document.Scope != provider.ScopePackage {
				t.Errorf("%s: %v", document.Name, err)
			}
			types[i] = append(types[i], b.PredicateType)
		}
	}
	listed, _ := r.Document(provider.KindSums)
	return types, len(found[listed.Digest]), err
}

func (w *hostedWorld) want(t *testing.T, want [2][]string, sums, requests int) {
	t.Helper()
	before := len(w.github.Requests())
	types, n, err := w.attestations(t)
	if err != nil {
		t.Fatal(w.text(err))
	}
	if diff := cmp.Diff(want, types); diff != "" || n != sums {
		t.Errorf("attestations (-want +got), and %d bundles about SHA256SUMS:\n%s", n, diff)
	}
	if got := len(w.github.Requests()) - before; got != requests {
		t.Errorf("got %d requests, want %d", got, requests)
	}
}

// TestAttestations checks that one attestation of all zips requires only one request to
// the API, and that its compressed bundle is requested without credentials.
func TestAttestations(t *testing.T) {
	t.Parallel()
	w := newHostedWorld(t, "ghp_secret")
	w.github.Attest(w.host, origintest.Bundle(slsa, w.zips[0], w.zips[1]), w.zips[0], w.zips[1])
	// The API, the bundle, and two names for a bundle about SHA256SUMS.
	w.want(t, [2][]string{{slsa}, {slsa}}, 0, 4)
	for _, r := range w.github.Requests() {
		isAPI := strings.HasPrefix(r.URL.Path, "/api/v3/")
		if got := r.Header.Get("Authorization"); (got == "Bearer ghp_secret") != isAPI || !isAPI && got != "" {
			t.Errorf("%s: Authorization %q", r.URL.Path, got)
		}
	}
}

// TestAttestationsOfEachPackage checks that separate attestations are requested for each
// package, with or without compression.
func TestAttestationsOfEachPackage(t *testing.T) {
	t.Parallel()
	w := newHostedWorld(t, "")
	w.github.Attest(w.host, origintest.Bundle(slsa, w.zips[0], w.zips[1]), w.zips[0], w.zips[1])
	w.github.AttestInline(origintest.Bundle("https://cyclonedx.org/bom", w.zips[0]), w.zips[0])
	w.want(t, [2][]string{{slsa, "https://cyclonedx.org/bom"}, {slsa}}, 0, 6)
	if r := w.github.Requests()[0]; r.Header.Get("Authorization") != "" {
		t.Error("Authorization without a token")
	}
}

// TestBundlesNextToZips checks that bundles in the release are used if GitHub has no
// attestations, and that a release without bundles requires five requests.
func TestBundlesNextToZips(t *testing.T) {
	t.Parallel()
	w := newHostedWorld(t, "")
	w.want(t, [2][]string{}, 0, 5)
	w.github.AddFile(w.zip(t, haiku)+".sigstore.json", []byte("an older format"))
	w.github.AddFile(w.zip(t, haiku)+".bundle", origintest.BlobBundle(w.zips[0]))
	w.github.AddFile(w.zip(t, plan9)+".sigstore.json", origintest.Bundle(slsa, w.zips[1]))
	w.want(t, [2][]string{{""}, {slsa}}, 0, 7)
	s := w.source()
	r, err := s.Release(t.Context(), w.address, version(t, "1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	listed, _ := r.Document(provider.KindSums)
	w.github.AddFile(w.sums+".sigstore.json", origintest.BlobBundle(listed.Digest))
	w.want(t, [2][]string{{""}, {slsa}}, 1, 6)
}

// TestAttestationsElsewhere checks that the API is not used for zips on other hosts.
func TestAttestationsElsewhere(t *testing.T) {
	t.Parallel()
	w := newHostedWorld(t, "ghp_secret")
	var err error
	if w.options.GitHub, err = origin.GitHubFromEnv(w.github.Env("ghes.example.org", "ghp_secret")); err != nil {
		t.Fatal(err)
	}
	w.github.Attest(w.host, origintest.Bundle(slsa, w.zips[0]), w.zips[0])
	w.want(t, [2][]string{}, 0, 4)
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusTooManyRequests} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			w := newHostedWorld(t, "")
			calls := 0
			w.github.Serve("/api/v3/repos/acme/terraform-provider-thing/attestations/"+w.zips[0].String(), func(rw http.ResponseWriter, _ *http.Request) {
				calls++
				rw.Header().Set("X-Ratelimit-Remaining", "0")
				rw.Header().Set("X-Ratelimit-Reset", fmt.Sprint(time.Now().Add(time.Hour).Unix()))
				http.Error(rw, `{"message":"API rate limit exceeded"}`, status)
			})
			for range 2 {
				_, _, err := w.attestations(t)
				var failure *provider.StatusError
				if !errors.As(err, &failure) || failure.Status != status || !strings.Contains(err.Error(), "rate limit") {
					t.Errorf("got %v", err)
				}
			}
			if most := map[int]int{http.StatusForbidden: 1, http.StatusTooManyRequests: 3}[status]; calls > most {
				t.Errorf("%d requests to the API", calls)
			}
		})
	}
}

// TestRateLimitEnds checks that a limit applies only until it ends, or for a bounded time,
// and that a repository without access isn't a limit.
func TestRateLimitEnds(t *testing.T) {
	t.Parallel()
	const remaining, reset = "X-Ratelimit-Remaining", "X-Ratelimit-Reset"
	after := func(d time.Duration) string { return fmt.Sprint(time.Now().Add(d).Unix()) }
	for name, c := range map[string]struct {
		status int
		header func() map[string]string
		// limited is how long GitHub receives no requests. Times in headers are rounded
		// to seconds.
		limited time.Duration
	}{
		"Reset":               {403, func() map[string]string { return map[string]string{remaining: "0", reset: after(40 * time.Minute)} }, 40 * time.Minute},
		"429 with Reset":      {429, func() map[string]string { return map[string]string{remaining: "0", reset: after(40 * time.Minute)} }, 40 * time.Minute},
		"Retry-After":         {403, func() map[string]string { return map[string]string{"Retry-After": "120"} }, 2 * time.Minute},
		"429":                 {429, func() map[string]string { return nil }, 5 * time.Minute},
		"far Reset":           {403, func() map[string]string { return map[string]string{remaining: "0", reset: "1000000000000"} }, time.Hour},
		"far Retry-After":     {429, func() map[string]string { return map[string]string{"Retry-After": "2147483647"} }, time.Hour},
		"overflow":            {429, func() map[string]string { return map[string]string{remaining: "0", reset: "99999999999999999999"} }, 5 * time.Minute},
		"past Reset":          {403, func() map[string]string { return map[string]string{remaining: "0", reset: "1"} }, 0},
		"negative Reset":      {403, func() map[string]string { return map[string]string{remaining: "0", reset: "-1"} }, 0},
		"no access":           {403, func() map[string]string { return nil }, 0},
		"no access, no limit": {403, func() map[string]string { return map[string]string{remaining: "59", reset: after(time.Hour)} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := hosted(t, newMemoryWorld(t, origintest.Options{}), "")
				calls := 0
				w.github.Serve(w.api(), func(rw http.ResponseWriter, _ *http.Request) {
					calls++
					for key, value := range c.header() {
						rw.Header().Set(key, value)
					}
					http.Error(rw, `{"message":"no"}`, c.status)
				})
				wantCalls := func(isCalled bool) {
					t.Helper()
					calls = 0
					_, _, err := w.attestations(t)
					failure, _ := errors.AsType[*provider.StatusError](err)
					if failure == nil || failure.Status != c.status || calls > 0 != isCalled {
						t.Errorf("%d requests, %v", calls, err)
					}
				}
				wantCalls(true)
				time.Sleep(max(c.limited-2*time.Second, 0))
				wantCalls(c.limited == 0)
				time.Sleep(2 * time.Second)
				w.github.Serve(w.api(), http.NotFound)
				if _, _, err := w.attestations(t); err != nil {
					t.Errorf("after the limit: %v", err)
				}
			})
		})
	}
}

// TestHostileBundles checks that invalid bundles are refused, that they are bounded, and
// that no credential is sent for them.
func TestHostileBundles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(t *testing.T, w *hostedWorld)
		want string
	}{
		"bomb": {func(_ *testing.T, w *hostedWorld) {
			w.serveBundle(snappy.Encode(nil, make([]byte, sigstore.MaxSize+1)))
		}, "exceeds 16777216 bytes"},
		"lying length": {func(_ *testing.T, w *hostedWorld) {
			w.serveBundle([]byte{0xff, 0xff, 0xff, 0x07, 0, 0})
		}, "decompressing the Sigstore bundle"},
		"too large":      {func(_ *testing.T, w *hostedWorld) { w.serveBundle(bytes.Repeat([]byte{0}, sigstore.MaxSize+1)) }, "response exceeds"},
		"not compressed": {func(_ *testing.T, w *hostedWorld) { w.serveBundle([]byte("{}")) }, "decompressing"},
		"other subject": {func(_ *testing.T, w *hostedWorld) {
			w.github.Attest(w.host, origintest.Bundle(slsa, digest.FromString("other")), w.zips[0])
		}, "is for different content"},
		"http": {func(_ *testing.T, w *hostedWorld) { w.github.AttestAt("http://"+w.host+"/bundle", w.zips[0]) }, "want an https URL"},
		"credentials": {func(_ *testing.T, w *hostedWorld) {
			w.github.AttestAt("https://user:pass@"+w.host+"/bundle", w.zips[0])
		}, "want an https URL"},
		"file": {func(_ *testing.T, w *hostedWorld) { w.github.AttestAt("file:///etc/passwd", w.zips[0]) }, "want an https URL"},
		"redirect to http": {func(_ *testing.T, w *hostedWorld) {
			w.github.AttestAt("https://"+w.host+"/bundle", w.zips[0])
			w.github.Serve("/bundle", http.RedirectHandler("http://"+w.host+"/x", http.StatusFound).ServeHTTP)
		}, "redirected from https to http"},
		"oversized list": {func(_ *testing.T, w *hostedWorld) {
			w.github.Serve(w.api(), func(rw http.ResponseWriter, _ *http.Request) {
				_, _ = rw.Write(bytes.Repeat([]byte{' '}, 2*sigstore.MaxSize+1))
			})
		}, "response exceeds"},
		"many": {func(_ *testing.T, w *hostedWorld) {
			for range 31 {
				w.github.AttestInline(origintest.Bundle(slsa, w.zips[0]), w.zips[0])
			}
		}, "more than 30 attestations"},
		"another page": {func(_ *testing.T, w *hostedWorld) {
			w.github.Serve(w.api(), func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Link", `<https://x>; rel="next"`)
				_, _ = rw.Write([]byte(`{"attestations":[]}`))
			})
		}, "more than 30 attestations"},
		"a list of nothing": {func(_ *testing.T, w *hostedWorld) {
			w.github.Serve(w.api(), func(rw http.ResponseWriter, _ *http.Request) {
				_, _ = rw.Write([]byte(`{"attestations":[` + strings.Repeat("{},", 1<<20) + `{}]}`))
			})
		}, "JSON exceeds 65536 values"},
		"many subjects": {func(_ *testing.T, w *hostedWorld) {
			w.github.AttestInline(origintest.Bundle(slsa, slices.Repeat(w.zips[:1], 20_000)...), w.zips[0])
		}, "JSON exceeds 32768 values"},
		"large bundles": {func(_ *testing.T, w *hostedWorld) {
			b := origintest.Bundle(slsa, w.zips[0])
			b = append(b, bytes.Repeat([]byte{' '}, sigstore.MaxSize-len(b))...)
			w.serveBundle(snappy.Encode(nil, b))
			for range 2 {
				w.github.AttestAt("https://"+w.host+"/bundle", w.zips[0])
			}
		}, "attestations exceed 33554432 bytes"},
		"large bundles of platforms": {func(_ *testing.T, w *hostedWorld) {
			for i, d := range w.zips {
				b := origintest.Bundle(slsa, d)
				b = append(b, bytes.Repeat([]byte{' '}, sigstore.MaxSize-len(b))...)
				path := fmt.Sprintf("/bundle%d", i)
				w.github.Serve(path, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(snappy.Encode(nil, b)) })
				for range 2 {
					w.github.AttestAt("https://"+w.host+path, d)
				}
			}
		}, "attestations of the release exceed 33554432 bytes"},
		"no JSON": {func(_ *testing.T, w *hostedWorld) {
			w.github.Serve(w.api(), func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("<html>")) })
		}, "GET https://HOST/api/v3/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHostedWorld(t, "ghp_secret")
			c.set(t, w)
			types, _, err := w.attestations(t)
			if text := w.text(err); err == nil || !strings.Contains(strings.ReplaceAll(text, w.host, "HOST"), c.want) || strings.Contains(text, "secret") {
				t.Errorf("got %s, want %q", text, c.want)
			}
			if types[0] != nil {
				t.Errorf("got %v", types)
			}
		})
	}
}

func (w *hostedWorld) zip(t *testing.T, p provider.Platform) string {
	t.Helper()
	return provider.Filename(w.address, version(t, "1.2.3"), p)
}

func (w *hostedWorld) api() string {
	return "/api/v3/repos/acme/terraform-provider-thing/attestations/" + w.zips[0].String()
}

func (w *hostedWorld) serveBundle(body []byte) {
	w.github.AttestAt("https://"+w.host+"/bundle", w.zips[0])
	w.github.Serve("/bundle", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(body) })
}

// TestTokenOfRedirectedAPI checks that the API's token is not sent to another host.
func TestTokenOfRedirectedAPI(t *testing.T) {
	t.Parallel()
	w := newHostedWorld(t, "ghp_secret")
	var got []string
	other := serve(t, w.ca, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		http.NotFound(rw, r)
	}))
	w.github.Serve(w.api(), http.RedirectHandler(other.URL+"/x", http.StatusFound).ServeHTTP)
	if _, _, err := w.attestations(t); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{""}, got); diff != "" {
		t.Errorf("Authorization: %s", diff)
	}
}

func TestGitHubFromEnv(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]map[string]string{
		"http API":          {"GITHUB_API_URL": "http://ghes.example.org/api/v3"},
		"API with password": {"GITHUB_API_URL": "https://user:pass@ghes.example.org/api/v3"},
		"http server":       {"GITHUB_SERVER_URL": "http://ghes.example.org"},
		"no URL":            {"GITHUB_API_URL": "https://ghes example"},
	} {
		if _, err := origin.GitHubFromEnv(func(name string) string { return env[name] }); provider.KindOf(err) != provider.Misuse || strings.Contains(err.Error(), "pass@") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := origin.GitHubFromEnv(func(string) string { return "" }); err != nil {
		t.Error(err)
	}
}
