package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// open is a world whose registry requires no credentials, so each request is sent once.
// The registry of guarded requires tokens.
var (
	open    = nature{origin: origintest.Options{ETags: true}, shapes: small}
	guarded = nature{origin: open.origin, shapes: small, registry: registrytest.Options{Username: "user", Password: password, Bearer: true}}
)

const (
	// early is the number of bytes that are sent before a fault. All zips and some
	// documents are larger.
	early = 100
	// ever exceeds the maximum number of attempts for any request.
	ever = 1000
)

// TestSingleFault checks that a flow completes after a single fault. Flows that must
// fail are excepted.
func TestSingleFault(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	eachMeeting(t, open, func(t *testing.T, w *world, f flow, x faultCase) {
		x.arm(w, early, 0, 1)
		if err := w.run(t, f); x.once != depends && (err != nil) != (x.once == refused) {
			t.Errorf("it came once: %v", err)
		}
	})
}

// TestPermanentFault checks that a flow reports a permanent fault after a few attempts.
func TestPermanentFault(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	eachMeeting(t, guarded, func(t *testing.T, w *world, f flow, x faultCase) {
		x.arm(w, early, 0, ever)
		if err := w.run(t, f); err == nil {
			t.Error("the fault was not reported")
		}
	})
}

// TestWrongDigest checks that a flow fails if the registry reports a wrong digest. The
// flow must fail even if the registry accepts manifests that refer to missing blobs.
func TestWrongDigest(t *testing.T) {
	t.Parallel()
	for _, f := range []flow{flows[0], flows[2]} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := open
				n.registry.Lax = true
				w := newWorld(t, n)
				w.registry.Misbehave(registrytest.UploadPut, w.registry.Misname(), 1)
				if err := w.run(t, f); !is[*sums.MismatchError](err) {
					t.Errorf("got %v", err)
				}
				w.complete(t, f)
			})
		})
	}
}

// TestTagNotStored checks that a flow detects if the registry accepts a tag but does
// not store it.
func TestTagNotStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := open
		n.shapes = small[:2]
		w := newWorld(t, n)
		w.registry.Misbehave(registrytest.ManifestPut, well, len(platforms))
		w.registry.Misbehave(registrytest.ManifestPut, registrytest.Forget(), 1)
		if err := w.run(t, flows[0]); provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "reading the tag back") {
			t.Errorf("got %v", err)
		}
		w.complete(t, flows[0])
	})
}

// TestInterruptedDocuments checks that blobs, including documents, are fetched again if
// the first response is interrupted after a few bytes.
func TestInterruptedDocuments(t *testing.T) {
	t.Parallel()
	for _, f := range flows {
		if !f.filled {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, open)
				w.prepare(t, f)
				var broken sync.Map
				w.registry.Misbehave(registrytest.BlobGet, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
					if _, again := broken.LoadOrStore(r.URL.Path, true); again {
						honest(rw, r)
						return
					}
					origintest.Short(3)(rw, r, honest)
				}, ever)
				if err := w.run(t, f); err != nil {
					t.Error(err)
				}
				w.complete(t, f)
			})
		})
	}
}

// eachMeeting runs meet for each combination of a fault and an affected flow. It then
// checks that the flow completes without the fault.
func eachMeeting(t *testing.T, n nature, meet func(t *testing.T, w *world, f flow, x faultCase)) {
	t.Helper()
	for _, x := range faultCases {
		for _, f := range flows {
			if x.meets(f) {
				t.Run(x.name+"/"+f.name, func(t *testing.T) {
					t.Parallel()
					n := n
					if x.login {
						n = guarded
					}
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t, n)
						w.prepare(t, f)
						meet(t, w, f, x)
						w.complete(t, f)
					})
				})
			}
		}
	}
}

// TestInterruptAtEachTenth interrupts each zip and each upload at every tenth of its
// length.
func TestInterruptAtEachTenth(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for _, x := range faultCases {
		if x.name != "origin resets a zip" && x.name != "registry resets an upload" && x.name != "registry resets what it sends" {
			continue
		}
		for _, f := range flows {
			for tenth := int64(0); x.meets(f) && tenth <= 10; tenth++ {
				t.Run(fmt.Sprintf("%s/%s/%d", x.name, f.name, tenth*10), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						n := open
						n.shapes = small[:2]
						w := newWorld(t, n)
						w.prepare(t, f)
						x.arm(w, w.goods.size()*tenth/10, 0, 2)
						if err := w.run(t, f); err != nil {
							t.Errorf("it came twice: %v", err)
						}
						w.complete(t, f)
					})
				})
			}
		}
	}
}
