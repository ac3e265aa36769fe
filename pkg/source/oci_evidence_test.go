package source_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/origintest"
	"github.com/tofu-oci/tofu-oci/internal/referrers"
	"github.com/tofu-oci/tofu-oci/internal/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestOCILoad: documents about one package are left where they are until
// someone wants them.
func TestOCILoad(t *testing.T) {
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
	if n := m.registry.Requests()[registrytest.BlobGet] - before; n != 1 { // SHA256SUMS
		t.Errorf("%d blobs were fetched", n)
	}
	left := r.Packages[1].Attachments
	if len(left) != 1 || left[0].Bytes != nil || left[0].Length() != int64(len(text)) {
		t.Fatalf("got %v", left)
	}
	loaded, err := s.Load(t.Context(), append(left, provider.Attachment{Name: "ours", Bytes: []byte("kept")}))
	if err != nil {
		t.Fatal(err)
	}
	if string(loaded[0].Bytes) != text || string(loaded[1].Bytes) != "kept" {
		t.Errorf("got %q and %q", loaded[0].Bytes, loaded[1].Bytes)
	}
	if left[0].Bytes != nil {
		t.Error("the argument was changed")
	}
	m.registry.Misbehave(registrytest.BlobGet, origintest.FlipBit(3), -1)
	if _, err := s.Load(t.Context(), left); err == nil || !strings.Contains(err.Error(), "fetching plan9.spdx.json: checksum of plan9.spdx.json is") {
		t.Errorf("got %v", err)
	}
}

func TestOCIReferrers(t *testing.T) {
	t.Parallel()
	for _, layout := range []bool{true, false} {
		m := newMirror(t, layout)
		m.foreign().put(t)
		s := m.source()
		if got, err := s.Referrers(t.Context(), m.address, m.version); err != nil || len(got) != 0 {
			t.Errorf("got %v, %v", got, err)
		}
		repo, err := m.open(m.address)
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := repo.Manifest(t.Context(), artifact.Tag(m.version))
		if err != nil {
			t.Fatal(err)
		}
		want := []provider.Attachment{{Name: "all.spdx.json", MediaType: artifact.MediaTypeSPDX, Bytes: []byte(`{"spdxVersion":"SPDX-2.3"}`)}}
		if _, err := referrers.Attach(t.Context(), repo, want, d, time.Millisecond); err != nil {
			t.Fatal(err)
		}
		got, err := s.Referrers(t.Context(), m.address, m.version)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if _, err := s.Referrers(t.Context(), m.address, version(t, "9.9.9")); !errors.Is(err, provider.ErrVersionNotFound) {
			t.Errorf("got %v", err)
		}
	}
}
