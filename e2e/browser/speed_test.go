//go:build browser

package browser_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

const (
	// maxSize is the maximum size of a page in bytes, and maxTime the maximum time to
	// load it.
	maxSize = 60_000
	maxTime = 100 * time.Millisecond
)

// measured lists the paths of the pages to measure.
var measured = map[string]string{
	"home": "/", "recent": "/?show=recent", "search": "/?search=rocket", "no page": "/providers/registry.opentofu.org/acme/none",
	"pending version": rocketPage + "/" + staged, "broken version": brokenPage, "modules": "/modules", "module": vpcPage, "module version": vpcPage + "/1.2.0",
	"versions": rocketPage, "version": rocketPage + "/" + newest, "older version": rocketPage + "/2.3.0",
}

// misses matches the metrics of cache lookups that required a request to a repository,
// except whether repositories respond, which is cached for only a few seconds.
var misses = regexp.MustCompile(`(?m)^tofu_oci_serve_lookups_total\{cache="[^h"][^"]*",result="miss"\}.*$`)

// TestPageSizes checks that every page is small, and that the server creates cached pages
// without requests to repositories.
func TestPageSizes(t *testing.T) {
	t.Parallel()
	site, metrics := serveMeasured(t)
	for _, name := range slices.Sorted(maps.Keys(measured)) {
		load(t, site+measured[name]) // fills the cache
		before := misses.FindAllString(load(t, metrics), -1)
		if size := len(load(t, site+measured[name])); size > maxSize {
			t.Errorf("%s has %d bytes, want at most %d", measured[name], size, maxSize)
		}
		if after := misses.FindAllString(load(t, metrics), -1); len(before) == 0 || !slices.Equal(before, after) {
			t.Errorf("%s: the metrics of cache misses changed from\n%q\nto\n%q", measured[name], before, after)
		}
	}
}

// BenchmarkPages loads cached pages. It fails if a page takes longer than allowed.
func BenchmarkPages(b *testing.B) {
	site, _ := serveMeasured(b)
	for name, path := range measured {
		b.Run(name, func(b *testing.B) {
			load(b, site+path) // fills the cache
			for b.Loop() {
				load(b, site+path)
			}
			if took := b.Elapsed() / time.Duration(b.N); took > maxTime {
				b.Errorf("%s takes %s, want at most %s", path, took, maxTime)
			}
		})
	}
}

// serveMeasured starts a server that never refreshes cached data, and returns the URLs
// of the server and of its metrics.
func serveMeasured(tb testing.TB) (site, metrics string) {
	tb.Helper()
	args, err := siteArgs("measured", fmt.Sprintf("limits { tags_ttl = %q }\n", patience.Limit))
	if err != nil {
		tb.Fatal(err)
	}
	server, err := fixture.StartServer(tb.Context(), world.program, tb.TempDir(), world.ca, append(args,
		"--from", repositories, "--metrics-listen", "127.0.0.1:0")...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(server.Kill)
	found, err := server.WaitForLog(regexp.MustCompile(`msg="serving /metrics" address=(\S+)\s`))
	if err != nil {
		tb.Fatal(err)
	}
	return server.URL, "http://" + found[1] + "/metrics"
}

// load returns the content at a URL.
func load(tb testing.TB, url string) string {
	tb.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(world.ca.PEM())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	answer, err := client.Get(url)
	if err != nil {
		tb.Fatal(err)
	}
	defer answer.Body.Close()
	var body strings.Builder
	if _, err := io.Copy(&body, answer.Body); err != nil {
		tb.Fatal(err)
	}
	return body.String()
}
