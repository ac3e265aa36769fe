package faults_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
)

// seeds is the number of random series.
var seeds = flag.Uint64("seeds", 50, "the number of random series; make nightly runs 1000")

// TestRandom combines faults and interruptions at random. To run only a failed seed:
//
//	go test ./internal/testing/faults -run 'TestRandom/seed=123$'
func TestRandom(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for seed := range *seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { misfortune(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

// misfortune creates a random world and runs a flow once or twice with faults. It then
// repeats the flow without faults until the flow completes.
func misfortune(t *testing.T, r *rand.Rand) {
	t.Helper()
	f := flows[r.IntN(len(flows))]
	n := randomNature(r)
	t.Logf("%s: %+v", f.name, n)
	w := newWorld(t, n)
	w.prepare(t, f)
	for range 1 + r.IntN(2) {
		t.Log(w.randomTroubles(r, f, n))
		t.Logf("ended in: %v", w.run(t, f))
	}
	w.complete(t, f)
}

func randomNature(r *rand.Rand) nature {
	yes := func() bool { return r.IntN(2) == 0 }
	n := nature{
		origin:   origintest.Options{ETags: yes(), NoPackages: yes(), RelativeURLs: yes()},
		registry: registrytest.Options{Username: "user", Password: password, Bearer: yes(), Lax: yes()},
		unsized:  r.IntN(4) == 0,
	}
	for range len(platforms) * (1 + r.IntN(3)) {
		n.shapes = append(n.shapes, shape{size: 1 + r.IntN(1<<(8+r.IntN(11))), unordered: r.IntN(4) == 0})
	}
	return n
}

// randomTroubles arms random faults that affect the flow, and returns a description of
// the faults.
func (w *world) randomTroubles(r *rand.Rand, f flow, n nature) string {
	var parts []string
	for range 1 + r.IntN(4) {
		x := faultCases[r.IntN(len(faultCases))]
		for !x.meets(f) || x.strict && n.registry.Lax {
			x = faultCases[r.IntN(len(faultCases))]
		}
		bytes, skip, times := r.Int64N(w.goods.size()+1), r.IntN(8), 1+r.IntN(4)
		if r.IntN(2) == 0 {
			bytes = r.Int64N(1000)
		}
		if r.IntN(8) == 0 {
			times = ever
		}
		x.arm(w, bytes, skip, times)
		parts = append(parts, fmt.Sprintf("%s, after %d bytes of the one after %d, %d times", x.name, bytes, skip, times))
	}
	w.reads.Store(0)
	if r.IntN(3) == 0 {
		w.reads.Store(1 + r.Int64N(400))
		parts = append(parts, fmt.Sprintf("interrupted at read %d", w.reads.Load()))
	}
	return strings.Join(parts, "; ")
}
