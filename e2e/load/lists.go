//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// connections are open, and requests come in a second.
	connections = 1000
	requests    = 2000
	// workers ask at once, to begin with. Each opens a connection of its own, and what
	// that takes is not what is measured here.
	workers = 50
)

// attacked is what vegeta reports, its durations in nanoseconds.
type attacked struct {
	Latencies struct {
		Median time.Duration `json:"50th"`
		P95    time.Duration `json:"95th"`
		P99    time.Duration `json:"99th"`
		Max    time.Duration `json:"max"`
	} `json:"latencies"`
	Rate     float64        `json:"rate"`
	Success  float64        `json:"success"`
	Statuses map[string]int `json:"status_codes"`
	Errors   []string       `json:"errors"`
	// peak is the most memory that the server held then and before, in bytes.
	peak int64
}

// measureLists lets vegeta ask for lists of versions. It uses what connection is free,
// a few of them for the most time, so that as many as are wanted are opened before, and
// have asked once.
func (w *world) measureLists(ctx context.Context, last time.Duration) (a attacked, err error) {
	list := w.layout.URL + "/mirror/registry.opentofu.org/acme/rocket/index.json"
	closeAll, err := w.connect(ctx, list)
	defer closeAll()
	if err != nil {
		return a, err
	}
	said, err := w.run(ctx, "GET "+list+"\n", "attack", "-rate", strconv.Itoa(requests), "-duration", last.String(), "-http2=false",
		"-connections", strconv.Itoa(connections), "-max-connections", strconv.Itoa(connections), "-workers", strconv.Itoa(workers), "-root-certs", w.caFile)
	if err != nil {
		return a, err
	}
	if said, err = w.run(ctx, said, "report", "-type", "json"); err != nil {
		return a, err
	}
	if err := json.Unmarshal([]byte(said), &a); err != nil {
		return a, fmt.Errorf("reading what vegeta reports: %w", err)
	}
	if a.Success < 1 {
		return a, fmt.Errorf("of the lists of versions some did not come: %v %v", a.Statuses, a.Errors)
	}
	say("lists: p99 %s, most %s, at %.0f a second", a.Latencies.P99, a.Latencies.Max, a.Rate)
	a.peak, err = w.layout.Peak()
	return a, err
}

// run runs vegeta.
func (w *world) run(ctx context.Context, stdin string, args ...string) (string, error) {
	var said, trouble bytes.Buffer
	cmd := exec.CommandContext(ctx, w.vegeta, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &said, &trouble
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("vegeta %s: %w\n%s", args[0], err, trouble.Bytes())
	}
	return said.String(), nil
}

// connect opens connections that ask once and stay open.
func (w *world) connect(ctx context.Context, url string) (closeAll func(), err error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.ca.PEM())
	clients := make([]*http.Client, connections)
	closeAll = func() {
		for _, c := range clients {
			if c != nil {
				c.CloseIdleConnections()
			}
		}
	}
	say("opening %d connections", connections)
	const atOnce = 50
	asking, ctx := errgroup.WithContext(ctx)
	asking.SetLimit(atOnce)
	for i := range clients {
		clients[i] = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
		asking.Go(func() error { return ask(ctx, clients[i], url) })
	}
	return closeAll, asking.Wait()
}

func ask(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s, %w", url, resp.Status, err)
	}
	return nil
}
