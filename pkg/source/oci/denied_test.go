package oci_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// pointTag makes a tag point to the target of a different tag.
func (m *mirror) pointTag(t *testing.T, tag, as string) {
	t.Helper()
	repo, err := m.open(m.address)
	if err != nil {
		t.Fatal(err)
	}
	d, data, err := repo.Manifest(t.Context(), as)
	if err == nil {
		err = repo.PushTag(t.Context(), artifact.Blob{Descriptor: d, Bytes: data}, tag, "")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDenied checks that no flow finds a denied version, even if the version still has
// its tag. The tags are listed only once.
func TestDenied(t *testing.T) {
	t.Parallel()
	for name, layout := range map[string]bool{"layout": true, "registry": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirror(t, layout)
			m.foreign().put(t)
			older := *m
			older.version = version(t, "1.2.2")
			older.foreign().put(t)
			m.pointTag(t, "denied-1.2.3", "1.2.2")
			s := m.source()
			versions, err := s.Versions(t.Context(), m.address)
			if err != nil || !slices.Equal(versions, []provider.Version{older.version}) {
				t.Errorf("versions %v, %v", versions, err)
			}
			_, err = s.Release(t.Context(), m.address, m.version)
			wantDenied(t, err)
			if _, err := s.Release(t.Context(), m.address, older.version); err != nil {
				t.Error(err)
			}
			r := provider.Requirement{Address: m.address}
			if denied := source.Denied(t.Context(), s, r, 1, versions); !slices.Equal(denied, []provider.Version{m.version}) {
				t.Errorf("denied %v", denied)
			}
			if m.registry != nil && m.registry.Requests()[registrytest.Tags] != 1 {
				t.Errorf("requests: %v", m.registry.Requests())
			}
		})
	}
}

// TestDeniedUnlisted checks that the tag itself is requested if the credentials do not
// allow listing tags, or if the registry does not support listing tags.
func TestDeniedUnlisted(t *testing.T) {
	t.Parallel()
	m := newMirror(t, false)
	m.foreign().put(t)
	unlisted := []int{http.StatusForbidden, http.StatusNotFound}
	for _, status := range unlisted {
		m.registry.Misbehave(registrytest.Tags, origintest.Status(status), -1)
		if _, err := m.source().Release(t.Context(), m.address, m.version); err != nil {
			t.Errorf("%d: %v", status, err)
		}
		m.registry.Behave()
	}
	m.pointTag(t, "denied-1.2.3", "1.2.3")
	for _, status := range unlisted {
		m.registry.Misbehave(registrytest.Tags, origintest.Status(status), -1)
		_, err := m.source().Release(t.Context(), m.address, m.version)
		wantDenied(t, err)
		m.registry.Behave()
	}
	// If listing fails for a different reason, nothing is installed.
	m.registry.Misbehave(registrytest.Tags, origintest.Status(http.StatusNotImplemented), -1)
	if _, err := m.source().Release(t.Context(), m.address, m.version); err == nil {
		t.Error("no error")
	}
}

func wantDenied(t *testing.T, err error) {
	t.Helper()
	if denied, ok := errors.AsType[*repository.DeniedError](err); !ok || denied.Record.Reason != "reason unavailable" {
		t.Errorf("got %v", err)
	}
}
