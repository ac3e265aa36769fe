package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/metrics"
	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// scrape returns our metrics in the format that Prometheus reads.
func scrape(t *testing.T, m *metrics.Server) []string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("got %d: %s", answer.Code, answer.Body)
	}
	var ours []string
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "tofu_oci_serve_") {
			ours = append(ours, strings.TrimSpace(line))
		}
	}
	return ours
}

// TestCounts checks that each event updates a metric and is passed on.
func TestCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, calls := metrics.New("1.2.3"), 0
		events := m.Watch(serve.Events{
			OnRequest: func(serve.RequestEvent) { calls++ }, OnOmitted: func(provider.Address, provider.Version, string) { calls++ },
			OnLookup: func(string, bool) { calls++ }, OnFailure: func(string, error) { calls++ }, OnPull: func(pullthrough.Event) { calls++ },
		})
		events.OnRequest(serve.RequestEvent{Route: "archive", Status: 206, Bytes: 7, Duration: 2 * time.Second})
		events.OnRequest(serve.RequestEvent{Route: "archive", Status: 403, Bytes: 5, Refused: "link", Duration: 2 * time.Second})
		events.OnRequest(serve.RequestEvent{Route: "versions", Status: 200, Bytes: 5, Stale: errors.New("down"), Duration: time.Hour})
		events.OnOmitted(nouns.Address(t, "acme/rocket"), nouns.Version(t, "1.0.0"), "unsigned")
		events.OnLookup("tags", true)
		events.OnLookup("tags", false)
		events.OnFailure("timeout", context.DeadlineExceeded)
		events.OnPull(pullthrough.Event{Stage: pullthrough.StageStarted})
		events.OnPull(pullthrough.Event{Stage: pullthrough.StageDone, Bytes: 11})
		m.Reloaded(nil)
		m.Reloaded(errors.New("the file has no blocks"))
		if calls != 9 {
			t.Errorf("got %d calls of the other callbacks, want 9", calls)
		}
		got := slices.DeleteFunc(scrape(t, m), func(line string) bool { return strings.Contains(line, "_bucket{") })
		if diff := cmp.Diff([]string{
			`tofu_oci_serve_archive_bytes_total 7`,
			`tofu_oci_serve_build_info{version="1.2.3"} 1`,
			`tofu_oci_serve_lookups_total{cache="tags",result="hit"} 1`,
			`tofu_oci_serve_lookups_total{cache="tags",result="miss"} 1`,
			`tofu_oci_serve_omitted_releases_total 1`,
			`tofu_oci_serve_pulled_bytes_total 11`,
			`tofu_oci_serve_pulls_total{stage="done"} 1`,
			`tofu_oci_serve_pulls_total{stage="started"} 1`,
			`tofu_oci_serve_refusals_total{reason="link"} 1`,
			`tofu_oci_serve_request_duration_seconds_sum{route="archive"} 4`,
			`tofu_oci_serve_request_duration_seconds_count{route="archive"} 2`,
			`tofu_oci_serve_request_duration_seconds_sum{route="versions"} 3600`,
			`tofu_oci_serve_request_duration_seconds_count{route="versions"} 1`,
			`tofu_oci_serve_requests_total{route="archive",status="206"} 1`,
			`tofu_oci_serve_requests_total{route="archive",status="403"} 1`,
			`tofu_oci_serve_requests_total{route="versions",status="200"} 1`,
			`tofu_oci_serve_rules_current 0`,
			`tofu_oci_serve_stale_responses_total{route="versions"} 1`,
			`tofu_oci_serve_upstream_errors_total{kind="timeout"} 1`,
		}, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		other := httptest.NewRecorder()
		m.Handler().ServeHTTP(other, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/pprof/", nil))
		if other.Code != http.StatusNotFound {
			t.Errorf("other path: got status %d", other.Code)
		}
	})
}

// value matches label values.
var value = regexp.MustCompile(`="([^"]*)"`)

// TestBounded checks that the number of series is limited, and that labels contain no
// input from clients or repositories.
func TestBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const canary = "canary"
		m := metrics.New("1.2.3")
		from, err := template.Parse("registry.example.com/acme/{type}")
		if err != nil {
			t.Fatal(err)
		}
		server, err := serve.New(serve.Options{
			From: []template.Template{from}, Events: m.Watch(serve.Events{}),
			Open: func(ref template.Reference) (repository.Reader, error) {
				return nil, fmt.Errorf("opening %s: %s", ref, canary)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 200 {
			word := fmt.Sprintf("%s%d", canary, n)
			for _, path := range []string{
				"/" + word, "/" + word + "/%2F", "/%ff" + word, "/" + strings.Repeat(word, 1000), "/mirror/" + word + ".example.com/acme/" + word + "/index.json",
				"/mirror/registry.opentofu.org/acme/rocket/" + word + ".json", "/v1/providers/" + word + "/rocket/versions", "/v1/providers/acme/" + word + "/1.0.0/download/" + word + "/mips",
				"/archive/" + word + "/registry.opentofu.org/acme/rocket/1.0.0/" + word + ".zip", "/v1/documents/" + word + "/-/acme/rocket/1.0.0/x/" + word,
			} {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
				r.Host = word + ".example.com"
				r.Header.Set("Authorization", "Bearer "+word)
				if n%2 == 1 {
					r.Method = strings.ToUpper(word)
				}
				server.ServeHTTP(httptest.NewRecorder(), r)
			}
		}
		series := scrape(t, m)
		words := map[string]bool{}
		for _, line := range series {
			for _, match := range value.FindAllStringSubmatch(line, -1) {
				words[match[1]] = true
			}
			if strings.Contains(strings.ToLower(line), canary) || strings.Contains(line, "acme") || strings.Contains(line, "example.com") {
				t.Errorf("client input in %s", line)
			}
		}
		const most = 300 // nine routes with twenty series each, and the statuses
		if len(series) == 0 || len(series) > most {
			t.Errorf("%d series", len(series))
		}
		for _, want := range []string{"unknown", "archive", "mirror-index", "method", "request", "miss", "404", "405", "other"} {
			if !words[want] {
				t.Errorf("nothing was counted as %q: the requests do not reach what they are for", want)
			}
		}
	})
}
