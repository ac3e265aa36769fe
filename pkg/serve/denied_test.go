package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/serve"
)

// TestDenied checks that a denied version disappears from all routes when the tags are
// listed again, and that the other versions remain.
func TestDenied(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]*world{"layout": newLayout(t), "registry": newRegistry(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.push(t, rocket{version: "1.0.0"})
			w.push(t, rocket{version: "1.1.0"})
			routes := []string{mirrored + "1.1.0.json", strings.ReplaceAll(archive, "1.0.0", "1.1.0"), apiRocket + "/1.1.0", rocketPage + "/1.1.0"}
			for _, route := range routes {
				if got := w.get(t, route); got.Code != http.StatusOK {
					t.Fatalf("%s: got %d", route, got.Code)
				}
			}
			w.tag(t, "1.1.0", "denied-1.1.0")
			w.clock.Forward(serve.DefaultMaxAge)
			for _, route := range routes {
				if got := w.get(t, route); got.Code != http.StatusNotFound {
					t.Errorf("%s: got %d", route, got.Code)
				}
			}
			if got := w.get(t, mirrored+"index.json").Body.String(); strings.Contains(got, "1.1.0") || !strings.Contains(got, "1.0.0") {
				t.Errorf("the versions are %s", got)
			}
		})
	}
}
