//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
)

// latency contains the sorted durations of the probes, and the last error.
type latency struct {
	took []time.Duration
	err  error
}

// probe requests a URL repeatedly, with a new connection each time. A probe fails after
// one second, which is also the default timeout in Kubernetes.
func probe(ctx context.Context, ca *testca.CA, url string) (l latency) {
	const probes, timeout = 50, time.Second
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.PEM())
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}
	for range probes {
		began := time.Now()
		if err := get(ctx, client, url); err != nil {
			l.err = err
			continue
		}
		l.took = append(l.took, time.Since(began))
	}
	slices.Sort(l.took)
	return l
}

func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}

func (l latency) String() string {
	if len(l.took) == 0 {
		return "none"
	}
	return fmt.Sprintf("median %.1f ms, at most %.1f ms", milliseconds(l.took[len(l.took)/2]), milliseconds(l.took[len(l.took)-1]))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (l latency) check() error {
	if l.err != nil {
		return fmt.Errorf("/healthz: %w", l.err)
	}
	return nil
}
