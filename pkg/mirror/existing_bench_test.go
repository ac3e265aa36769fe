package mirror_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// BenchmarkUnchanged checks 200 versions with 10 platforms each that already exist in the
// target. It compares the time with the time of a bare client, which sends the same
// requests with the same concurrency and ignores the responses. Both times include the
// work of the servers, which run in the same process.
//
//	go test ./pkg/mirror -run - -bench There -benchtime 11x
func BenchmarkUnchanged(b *testing.B) {
	ca, err := testca.New()
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "ca.pem")
	if err := os.WriteFile(file, ca.PEM(), 0o600); err != nil {
		b.Fatal(err)
	}
	received := &record{}
	at := recorded(b, ca, offer(b), received)
	host := recorded(b, ca, registrytest.New(registrytest.Options{}), received)
	mirrorAll(b, file, at, host, publish.Created)
	received.take()
	mirrorAll(b, file, at, host, publish.Unchanged)
	requests := received.take()
	var ours, bare []float64
	for b.Loop() {
		ours = append(ours, timed(func() { mirrorAll(b, file, at, host, publish.Unchanged) }))
		bare = append(bare, timed(func() {
			if err := sendAll(b.Context(), ca, requests); err != nil {
				b.Fatal(err)
			}
		}))
	}
	b.ReportMetric(float64(len(requests)), "requests")
	b.ReportMetric(median(ours), "s-ours")
	b.ReportMetric(median(bare), "s-bare")
	b.ReportMetric(median(ours)/median(bare), "ratio")
}

// timed runs a garbage collection, calls do, and returns its duration in seconds.
func timed(do func()) float64 {
	runtime.GC()
	began := time.Now()
	do()
	return time.Since(began).Seconds()
}

func median(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }

// sendAll sends the requests with a bare client.
func sendAll(ctx context.Context, ca *testca.CA, requests []request) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.PEM())
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: schedule.MaxRequestsToHost,
	}}
	defer client.CloseIdleConnections()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(schedule.MaxRequestsToHost)
	for _, r := range requests {
		group.Go(func() error {
			req, err := http.NewRequestWithContext(ctx, r.method, r.url, nil)
			if err != nil {
				return err
			}
			req.Header = r.header
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			defer func() { _ = resp.Body.Close() }()
			_, err = io.Copy(io.Discard, resp.Body)
			return err
		})
	}
	return group.Wait()
}

// record collects requests in order of arrival.
type record struct {
	mu       sync.Mutex
	requests []request
}

type request struct {
	method, url string
	header      http.Header
}

func (r *record) add(req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, request{req.Method, "https://" + req.Host + req.URL.RequestURI(), req.Header.Clone()})
}

// take returns the requests since the last call.
func (r *record) take() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.requests
	r.requests = nil
	return taken
}

// recorded serves h over TLS and records the requests.
func recorded(b *testing.B, ca *testca.CA, h http.Handler, received *record) (host string) {
	b.Helper()
	return registrytest.Serve(b, ca, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received.add(r)
		h.ServeHTTP(w, r)
	}))
}
