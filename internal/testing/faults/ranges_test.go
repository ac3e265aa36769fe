package faults_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
)

// TestResumedWithOtherContent covers zips whose download resumes with different
// content. The content must be verified, and the whole zip must be requested again.
func TestResumedWithOtherContent(t *testing.T) {
	t.Parallel()
	for _, x := range faultCases {
		for _, f := range flows {
			if !strings.HasPrefix(x.name, "origin goes on") || !x.meets(f) {
				continue
			}
			t.Run(x.name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					n := open
					n.shapes = []shape{{size: 50_000}, {size: 50_000}}
					w := newWorld(t, n)
					x.arm(w, w.goods.size()/2, 0, 4) // two zips, and two resumed downloads
					// A reset can occur before the client reads the response. In this
					// case, the client has nothing to resume.
					if err := w.run(t, f); err != nil && x.twice != refused {
						t.Errorf("it ended in %v", err)
					}
					w.complete(t, f)
				})
			})
		}
	}
}

// TestParallelParts covers zips that a registry sends in parallel parts. Some parts
// have wrong content, but a single stream has the right content.
func TestParallelParts(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	const size = 17 << 20 // zips of at least 16 MiB are fetched in parts
	for name, fault := range map[string]origintest.Fault{
		"other bytes":    origintest.FlipBit(1),
		"another length": origintest.Rewrite("Content-Range", "bytes 0-8/9"),
		"another part":   origintest.Shift(),
		"another ETag":   origintest.Rewrite("ETag", `"other"`),
		"all of it":      origintest.IgnoreRange(),
		"a reset":        origintest.Reset(100_000),
		"an early end":   origintest.Short(100_000),
		"a hang":         origintest.Stall(100_000),
		"no more":        origintest.Status(http.StatusTooManyRequests, "Retry-After", "30"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := flows[len(flows)-1]
				n := open
				n.shapes = []shape{{size: size}, {size: 1000}}
				w := newWorld(t, n)
				w.prepare(t, f)
				var parts atomic.Int32
				w.registry.Misbehave(registrytest.BlobGet, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
					ranged := r.Header.Get("Range") != ""
					if ranged {
						rw.Header().Set("ETag", `"one"`)
					}
					if ranged && parts.Add(1) > 1 {
						fault(rw, r, honest)
						return
					}
					honest(rw, r)
				}, 8)
				if err := w.run(t, f); err != nil {
					t.Error(err)
				}
				if parts.Load() < 2 {
					t.Errorf("got requests for %d parts", parts.Load())
				}
				w.complete(t, f)
			})
		})
	}
}
