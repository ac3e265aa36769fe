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

// open is a world whose registry wants no login, so that each request is made once;
// guarded is one that wants tokens.
var (
	open    = nature{origin: origintest.Options{ETags: true}, shapes: small}
	guarded = nature{origin: open.origin, shapes: small, registry: registrytest.Options{Username: "user", Password: password, Bearer: true}}
)

const (
	// early is how many bytes come before a trouble. All zips have more, and some
	// documents.
	early = 100
	// ever is more often than anything is tried.
	ever = 1000
)

// TestOnce: a trouble that comes once is survived, unless it has to be refused.
func TestOnce(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	eachMeeting(t, open, func(t *testing.T, w *world, f flow, x trouble) {
		x.arm(w, early, 0, 1)
		if err := w.run(t, f); x.once != depends && (err != nil) != (x.once == refused) {
			t.Errorf("it came once: %v", err)
		}
	})
}

// TestAlways: a trouble that does not end is told, in a few tries.
func TestAlways(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	eachMeeting(t, guarded, func(t *testing.T, w *world, f flow, x trouble) {
		x.arm(w, early, 0, ever)
		if err := w.run(t, f); err == nil {
			t.Error("nothing was said of it")
		}
	})
}

// TestAnotherDigest: a registry that says that it has stored something else is
// believed, also when it takes a manifest without the blob.
func TestAnotherDigest(t *testing.T) {
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

// TestForgottenTag: a tag that was taken and is not there is noticed.
func TestForgottenTag(t *testing.T) {
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

// TestDocumentsBreakOff: each blob of a registry, documents included, breaks off
// once in its first bytes, and is fetched again.
func TestDocumentsBreakOff(t *testing.T) {
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

// eachMeeting has each trouble meet each flow that comes by, and then looks whether
// the flow completes.
func eachMeeting(t *testing.T, n nature, meet func(t *testing.T, w *world, f flow, x trouble)) {
	t.Helper()
	for _, x := range troubles {
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

// TestTenths breaks each zip and each upload at every tenth of it.
func TestTenths(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for _, x := range troubles {
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
