package publish_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestKeptDamaged checks that a run fails if a registry accepts a correct blob but
// keeps its corrupted copy. After the blob is deleted, the release can be repaired.
func TestKeptDamaged(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for _, part := range []string{"zip", "sums", "signature", "config"} {
		for damage, change := range map[string]func([]byte) []byte{
			"other bytes": func(b []byte) []byte { return bytes.Repeat([]byte("x"), len(b)) },
			"cut off":     func(b []byte) []byte { return b[:1] },
		} {
			t.Run(part+", "+damage, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, origintest.Options{})
				to, from := w.registry(t, registrytest.Options{KeepsBlobs: true}), w.layout(t)
				w.publish(t, from, publish.Created, publish.Options{})
				w.publish(t, to, publish.Created, publish.Options{})
				blob := losses[part].part(to.graph(t, plan9))
				size, err := to.open(t).Stat(t.Context(), ocispec.Descriptor{Digest: blob})
				if err != nil {
					t.Fatal(err)
				}
				to.registry.AddBlob(repositoryName, blob.String(), change(make([]byte, size)))
				for name, run := range map[string]func() (publish.Result, error){
					"publish": func() (publish.Result, error) { return w.run(t, to, publish.Options{Check: repository.DepthContent}) },
					"copy": func() (publish.Result, error) {
						return w.copy(t, from, to, publish.Options{Check: repository.DepthContent})
					},
				} {
					result, err := run()
					if !errors.Is(err, repository.ErrCorruptRetained) || !strings.Contains(err.Error(), blob.String()) {
						t.Errorf("%s: got %s, %v", name, result.Status, err)
					}
				}
				to.lose(t, blob)
				w.publish(t, to, publish.Repaired, publish.Options{Check: repository.DepthContent})
				w.wantStored(t, to, all...)
			})
		}
	}
}

// TestKeptDamagedManifest checks that a run also fails if the registry keeps a
// corrupted manifest.
func TestKeptDamagedManifest(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, origintest.Options{})
	to, from := w.registry(t, registrytest.Options{}), w.layout(t)
	w.publish(t, from, publish.Created, publish.Options{})
	w.publish(t, to, publish.Created, publish.Options{})
	x, _ := to.graph(t, plan9)
	damage := func(rw http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
		if req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, x.Descriptor.Digest.String()) {
			origintest.FlipBit(3)(rw, req, honest)
		} else {
			honest(rw, req)
		}
	}
	to.registry.Misbehave(registrytest.ManifestGet, damage, -1)
	for name, run := range map[string]func() (publish.Result, error){
		"publish": func() (publish.Result, error) { return w.run(t, to, publish.Options{}) },
		"copy":    func() (publish.Result, error) { return w.copy(t, from, to, publish.Options{}) },
	} {
		result, err := run()
		if !errors.Is(err, repository.ErrCorruptRetained) || !strings.Contains(err.Error(), x.Descriptor.Digest.String()) {
			t.Errorf("%s: got %s, %v", name, result.Status, err)
		}
	}
}
