package oci_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestOCILeavesDocuments checks that documents about one package are not downloaded
// until they are needed.
func TestOCILeavesDocuments(t *testing.T) {
	t.Parallel()
	m := newMirror(t, false)
	a := m.foreign()
	const text = `{"spdxVersion":"SPDX-2.3"}`
	a.layers[plan9] = append(a.layers[plan9], document{artifact.MediaTypeSPDX, "plan9.spdx.json", []byte(text)})
	a.put(t)
	s := m.source()
	before := m.registry.Requests()[registrytest.BlobGet]
	r, err := s.Release(t.Context(), m.address, m.version)
	if err != nil {
		t.Fatal(err)
	}
	if n := m.registry.Requests()[registrytest.BlobGet] - before; n != 1 { // only SHA256SUMS
		t.Errorf("%d blobs were fetched", n)
	}
	left := r.Packages[1].Documents
	if len(left) != 1 || left[0].Bytes != nil || left[0].Size != int64(len(text)) || left[0].Kind != provider.KindSBOM {
		t.Fatalf("got %v", left)
	}
	if content, err := left[0].Read(t.Context()); err != nil || string(content) != text {
		t.Errorf("got %q, %v", content, err)
	}
	m.registry.Misbehave(registrytest.BlobGet, origintest.FlipBit(3), -1)
	if _, err := left[0].Read(t.Context()); err == nil || !strings.Contains(err.Error(), "fetching plan9.spdx.json: checksum of plan9.spdx.json is") {
		t.Errorf("got %v", err)
	}
}

func TestOCIDocuments(t *testing.T) {
	t.Parallel()
	for _, layout := range []bool{true, false} {
		m := newMirror(t, layout)
		m.foreign().put(t)
		s := m.source()
		about := func() []provider.Document {
			t.Helper()
			r, err := s.Release(t.Context(), m.address, m.version)
			if err != nil {
				t.Fatal(err)
			}
			documents, err := s.Capabilities().Documents(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return documents
		}
		if got := about(); len(got) != 0 {
			t.Errorf("got %v", got)
		}
		repo, err := m.open(m.address)
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := repo.Manifest(t.Context(), artifact.Tag(m.version))
		if err != nil {
			t.Fatal(err)
		}
		want := artifact.NewDocument("all.spdx.json", artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"SPDX-2.3"}`))
		if _, err := repository.Attach(t.Context(), repo, []provider.Document{want}, artifact.Blob{Descriptor: d}); err != nil {
			t.Fatal(err)
		}
		got := about()
		if len(got) != 1 || got[0].Scope != provider.ScopeRelease {
			t.Fatalf("got %v", got)
		}
		content, err := got[0].Read(t.Context())
		if diff := cmp.Diff(want, got[0].WithBytes(content), cmpopts.IgnoreFields(provider.Document{}, "Content", "Scope")); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}
