package publish_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// withoutZips makes the origin respond with 404 to requests for the zips of platforms.
func (w *world) withoutZips(platforms ...provider.Platform) {
	w.origin.Misbehave(origintest.Zip, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		for _, p := range platforms {
			if strings.Contains(r.URL.Path, p.String()) {
				http.NotFound(rw, r)
				return
			}
		}
		honest(rw, r)
	}, -1)
}

// TestMissingZip checks that a zip that the origin has deleted doesn't stop the other
// platforms, and that a later run adds it when it exists.
func TestMissingZip(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.withoutZips(haiku)
		r := w.publish(t, to, publish.Created, publish.Options{})
		if len(r.Omitted) != 1 || r.Omitted[0].Wanted != haiku || len(r.Omitted[0].Have) != len(all)-1 || len(sent(r)) != len(all)-1 {
			t.Errorf("got %v, sent %v", r.Omitted, sent(r))
		}
		stored, err := repository.Inspect(t.Context(), to.open(t), w.version.String(), repository.DepthBlobs)
		if err != nil || len(stored.Index.Platforms()) != len(all)-1 || stored.HasPlatform(haiku) {
			t.Errorf("got %v, %v", stored.Index.Platforms(), err)
		}
		w.origin.Behave()
		w.publish(t, to, publish.Extended, publish.Options{Platforms: []provider.Platform{haiku}})
	})
}

// TestMissingZipRequested checks that a missing zip is an error if its platform was
// requested, or if no other zip exists. Nothing is published.
func TestMissingZipRequested(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		missing []provider.Platform
		o       publish.Options
	}{
		"requested": {[]provider.Platform{haiku}, publish.Options{Platforms: []provider.Platform{haiku, plan9}}},
		"all":       {all, publish.Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
				w.withoutZips(test.missing...)
				if _, err := w.run(t, to, test.o); err == nil || !strings.Contains(err.Error(), "404") {
					t.Errorf("got %v", err)
				}
				if d := to.digest(t); d != "" {
					t.Errorf("the tag points to %s", d)
				}
			})
		})
	}
}
