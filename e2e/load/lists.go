//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// connections are open, and requests come in a second.
	connections = 1000
	requests    = 2000
	// ownConnections are those that vegeta opens beside.
	ownConnections = 50
	// start is the time in which it opens them, which is not measured.
	start = 3 * time.Second
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

// measureLists lets vegeta ask for lists of versions. It uses whatever connection is
// free, a few of them for the most time, so those that are to be open are opened before,
// and have asked once.
func (w *world) measureLists(ctx context.Context, last time.Duration) (a attacked, err error) {
	list := w.layout.URL + "/mirror/registry.opentofu.org/acme/rocket/index.json"
	closeAll, err := w.connect(ctx, list)
	defer closeAll()
	if err != nil {
		return a, err
	}
	said, err := w.run(ctx, "GET "+list+"\n", "attack", "-rate", strconv.Itoa(requests), "-duration", (start + last).String(), "-http2=false",
		"-connections", strconv.Itoa(ownConnections), "-max-connections", strconv.Itoa(ownConnections), "-root-certs", w.caFile)
	if err == nil {
		said, err = w.run(ctx, said, "encode", "-to", "csv")
	}
	if err == nil {
		said, err = after(start, said)
	}
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

// after leaves out the requests of the first time. A line begins with when a request was
// made, in nanoseconds; lines are in the order of answers.
func after(start time.Duration, csv string) (string, error) {
	type line struct {
		at   int64
		text string
	}
	var lines []line
	for text := range strings.Lines(csv) {
		number, _, _ := strings.Cut(text, ",")
		at, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return "", fmt.Errorf("reading what vegeta writes: %w", err)
		}
		lines = append(lines, line{at, text})
	}
	if len(lines) == 0 {
		return "", errors.New("vegeta has asked nothing")
	}
	first := slices.MinFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) }).at
	var kept strings.Builder
	for _, l := range lines {
		if l.at-first >= int64(start) {
			kept.WriteString(l.text)
		}
	}
	return kept.String(), nil
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
