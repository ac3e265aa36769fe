package serve_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// TestPullThroughAccess checks that access to a provider of the same name on a
// different host doesn't allow requests to an origin. A pulled release would be stored
// under the requested address.
func TestPullThroughAccess(t *testing.T) {
	t.Parallel()
	hash := sha256.Sum256([]byte(canary))
	w := newPullThrough(t, newLayout, guarded(t), func(o *serve.Options) {
		o.Rules = ruled(t, fmt.Sprintf("token \"ci\" {\n sha256 = %q\n allow = [%q]\n}", hex.EncodeToString(hash[:]), privateHost+"/*/*"))
	})
	w.offer(t, "1.2.0", 1000)
	for _, path := range []string{"/v1/providers/acme/rocket/versions", "/v1/providers/acme/rocket/1.2.0/download/plan9/mips", mirrored + "index.json", archiveOf("1.2.0", plan9)} {
		if got := w.get(t, path, login...); got.Code != http.StatusForbidden {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
	}
	if n := w.origin.Requests(); len(n) != 0 {
		t.Errorf("requests to the origin: %v", n)
	}
}

// TestPullThroughOtherProvider checks that a provider is pulled to the last
// repository if the first repository contains a provider of a different host. If the
// last repository also contains a provider of a different host, nothing is pulled.
func TestPullThroughOtherProvider(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for _, last := range []bool{false, true} {
		other := newLayout(t)
		other.push(t, rocket{host: privateHost, version: "1.0.0"})
		w := newPullThrough(t, newLayout, func(o *serve.Options) {
			theirs := parsed(t, other.template)
			if o.From = append([]template.Template{theirs}, o.From...); last {
				o.From = []template.Template{o.From[1], theirs}
			}
		})
		w.offer(t, "1.2.0", 1000)
		if last {
			for _, path := range []string{mirrored + "index.json", archiveOf("1.2.0", plan9)} {
				if got := w.get(t, path); got.Code != http.StatusNotFound || len(w.stages()) != 0 {
					t.Errorf("%s: got %d %s, told %v", path, got.Code, got.Body, w.stages())
				}
			}
			continue
		}
		got := w.get(t, archiveOf("1.2.0", plan9))
		ok(t, got.Code, got.Body.String())
		w.end(t)
		w.checkComplete(t, "1.2.0")
	}
}
