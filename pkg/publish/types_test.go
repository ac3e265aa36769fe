package publish_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestTypes checks that registries with a list of allowed media types store complete
// releases, and that another run finds them unchanged, extends them, and attaches
// documents.
func TestTypes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		types   *registrytest.Types
		generic bool
	}{
		"GitLab": {registrytest.GitLabTypes, false}, "strict": {registrytest.StrictTypes, true}, "images": {registrytest.ImageTypes, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			to := w.registry(t, registrytest.Options{Types: test.types, NoReferrers: http.StatusNotFound})
			w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{haiku}})
			w.publish(t, to, publish.Extended, publish.Options{})
			w.wantStored(t, to, all...)
			if _, m := to.graph(t, haiku); m.Generic != test.generic || len(m.Documents) == 0 {
				t.Errorf("got %+v", m)
			}
			state := to.state(t)
			w.publish(t, to, publish.Unchanged, publish.Options{})
			if to.state(t) != state {
				t.Error("unexpected writes")
			}
			// Once the form is known, no manifest is refused.
			before := to.registry.Requests()[registrytest.ManifestPut]
			to.lose(t, w.zipDigest(haiku))
			w.publish(t, to, publish.Repaired, publish.Options{})
			w.wantStored(t, to, all...)
			if n := to.registry.Requests()[registrytest.ManifestPut] - before; n > 2 {
				t.Errorf("%d manifests were sent", n)
			}
			sbom := artifact.NewDocument("audit.spdx.json", artifact.MediaTypeSPDX, []byte(spdx))
			d, _, err := to.open(t).Manifest(t.Context(), "1.2.3")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := repository.Attach(t.Context(), to.open(t), []provider.Document{sbom}, artifact.Blob{Descriptor: d}); err != nil {
				t.Fatal(err)
			}
			w.wantReferring(t, to, "audit.spdx.json")
			w.denyAsIs(t, to)
			_, err = w.run(t, to, publish.Options{})
			if refused, ok := errors.AsType[*repository.DeniedError](err); !ok || refused.Record.Reason == "" {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestRefusedTypes checks the error if the registry refuses the type of the zips.
func TestRefusedTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.registry(t, registrytest.Options{Types: &registrytest.Types{Layers: []string{"application/vnd.oci.image.layer.v1.tar+gzip"}}})
	_, err := w.run(t, to, publish.Options{})
	if err == nil || !strings.Contains(err.Error(), "unknown media type: archive/zip") {
		t.Errorf("got %v", err)
	}
	to.wantTag(t, "")
}
