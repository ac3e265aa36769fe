//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// connections is the number of open connections. It is also the number of requests
	// per second.
	connections = 1000
	requests    = 2000
	// ownConnections is the number of additional connections that vegeta opens.
	ownConnections = 50
	// start is the duration of the warm-up, during which vegeta opens its connections.
	// The warm-up is not measured.
	start = 3 * time.Second
)

// attacked is vegeta's report. Durations are in nanoseconds.
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
	// peak is the server's peak memory after the measurement, in bytes.
	peak int64
}

// measureLists requests lists of versions with vegeta. Most of the time, vegeta uses
// only a few connections. Therefore, measureLists opens additional connections and
// sends one request on each.
func (w *world) measureLists(ctx context.Context, last time.Duration) (a attacked, err error) {
	list := w.listURL()
	closeAll, err := w.connect(ctx, list)
	defer closeAll()
	if err != nil {
		return a, err
	}
	out, err := w.run(ctx, "GET "+list+"\n", "attack", "-rate", strconv.Itoa(requests), "-duration", (start + last).String(), "-http2=false",
		"-connections", strconv.Itoa(ownConnections), "-max-connections", strconv.Itoa(ownConnections), "-root-certs", w.caFile)
	if err == nil {
		out, err = w.run(ctx, out, "encode", "-to", "csv")
	}
	if err == nil {
		out, err = after(start, out)
	}
	if err != nil {
		return a, err
	}
	if out, err = w.run(ctx, out, "report", "-type", "json"); err != nil {
		return a, err
	}
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		return a, fmt.Errorf("reading the report of vegeta: %w", err)
	}
	if a.Success < 1 {
		return a, fmt.Errorf("some requests for lists of versions failed: %v %v", a.Statuses, a.Errors)
	}
	say("lists: p99 %s, most %s, at %.0f a second", a.Latencies.P99, a.Latencies.Max, a.Rate)
	a.peak, err = w.layout.Peak()
	return a, err
}

// after removes the requests of the warm-up from vegeta's CSV output. Each line starts
// with the request's time in nanoseconds. Lines are in the order of responses.
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
			return "", fmt.Errorf("reading the output of vegeta: %w", err)
		}
		lines = append(lines, line{at, text})
	}
	if len(lines) == 0 {
		return "", errors.New("vegeta sent no requests")
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

// run runs vegeta and returns its output.
func (w *world) run(ctx context.Context, stdin string, args ...string) (string, error) {
	var out, trouble bytes.Buffer
	cmd := exec.CommandContext(ctx, w.vegeta, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &trouble
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("vegeta %s: %w\n%s", args[0], err, trouble.Bytes())
	}
	return out.String(), nil
}

// connect opens connections, sends one request on each, and keeps them open.
func (w *world) connect(ctx context.Context, url string) (closeAll func(), err error) {
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
		clients[i] = w.client()
		asking.Go(func() error {
			_, err := download(ctx, clients[i], url)
			return err
		})
	}
	return closeAll, asking.Wait()
}
