//go:build linux

package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// faulty is a registry that injects faults into a quarter of its responses, at random.
type faulty struct {
	honest http.Handler

	mu     sync.Mutex
	random *rand.Rand
	// hanging is a channel that is closed to release hanging requests. While no faults
	// are injected, the channel is nil.
	hanging chan struct{}
}

const oneIn = 4

// all returns all faults.
func all() []origintest.Fault {
	return []origintest.Fault{
		origintest.Status(http.StatusUnauthorized), origintest.Status(http.StatusForbidden), origintest.Status(http.StatusNotFound),
		origintest.Status(http.StatusTooManyRequests, "Retry-After", "1"), origintest.Status(http.StatusInternalServerError),
		origintest.Status(http.StatusServiceUnavailable, "Retry-After", "1"),
		origintest.HTML("login"), origintest.Oversized(8 << 20), origintest.Document("application/json", `{"tags":`),
		origintest.Hang(), origintest.Stall(50), origintest.Stall(20_000),
		origintest.Reset(0), origintest.Reset(50), origintest.Reset(20_000), origintest.Short(50), origintest.Short(20_000),
		origintest.FlipBit(1), origintest.FlipBit(20_000), origintest.Longer(), origintest.Unsized(), origintest.IgnoreRange(),
	}
}

func newFaulty(honest http.Handler, seed uint64) *faulty {
	return &faulty{honest: honest, random: rand.New(rand.NewPCG(seed, 0))}
}

// start starts injecting faults.
func (f *faulty) start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hanging = make(chan struct{})
}

// stop stops injecting faults and releases hanging requests.
func (f *faulty) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hanging != nil {
		close(f.hanging)
	}
	f.hanging = nil
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	hanging, faults := f.hanging, all()
	wrong, which := f.random.IntN(oneIn) == 0, f.random.IntN(len(faults))
	f.mu.Unlock()
	if hanging == nil || !wrong || strings.HasSuffix(r.URL.Path, "/v2/") {
		f.honest.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-hanging:
			cancel()
		case <-ctx.Done():
		}
	}()
	faults[which](w, r.WithContext(ctx), f.honest.ServeHTTP)
}
