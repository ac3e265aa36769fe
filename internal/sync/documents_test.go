package sync_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// documents returns the kinds of the documents about the packages of rocket 1.0.0.
func (m *mirrored) documents(t *testing.T, name string) (kinds []provider.DocumentKind) {
	t.Helper()
	s := oci.New(func(provider.Address) (repository.Reader, error) { return m.repository(t, name), nil })
	r, err := s.Release(t.Context(), nouns.Address(t, m.fromHost+"/acme/rocket"), nouns.Version(t, "1.0.0"))
	if err == nil {
		r, err = provider.WithAttestations(t.Context(), s, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Packages {
		for _, d := range p.Documents {
			if d.Scope == provider.ScopePackage {
				kinds = append(kinds, d.Kind)
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}

// TestDocuments checks that the settings attestations and sbom add documents to new and
// existing releases, and that copies have the same documents.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for name, isNew := range map[string]bool{"new": true, "existing": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirrored(t, main, sync.Target{Name: "dr", From: "main"})
			hosted := origintest.NewGitHub(m.origin)
			m.fromHost = registrytest.Serve(t, ca, hosted)
			github, err := origin.GitHubFromEnv(hosted.Env(m.fromHost, ""))
			if err != nil {
				t.Fatal(err)
			}
			m.source = origin.New(origin.Options{HTTP: m.client, GitHub: github})
			m.check = repository.DepthBlobs
			m.publish(t, "rocket", "1.0.0")
			offered, err := m.source.Release(t.Context(), nouns.Address(t, m.fromHost+"/acme/rocket"), nouns.Version(t, "1.0.0"))
			if err != nil {
				t.Fatal(err)
			}
			var zips []digest.Digest
			for _, p := range offered.Packages {
				zips = append(zips, p.Digest)
			}
			bundle := origintest.Bundle("https://slsa.dev/provenance/v1", zips...)
			for _, p := range offered.Packages {
				hosted.Serve("/files/acme/rocket/1.0.0/"+p.Filename+".sigstore.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bundle) })
			}
			want := "mirror main 1.0.0, copy dr 1.0.0"
			if !isNew {
				m.want(t, "rocket", sync.Settings{})
				m.expect(t, want)
				if kinds := m.documents(t, "dr/rocket"); len(kinds) > 0 {
					t.Fatalf("documents without the settings: %v", kinds)
				}
				want = "extend main 1.0.0, extend dr 1.0.0"
				m.want(t, "rocket", sync.Settings{AutoSBOM: true})
				m.expect(t, want)
			}
			m.want(t, "rocket", sync.Settings{Attestations: publish.AttestationsRequire, AutoSBOM: true})
			m.expect(t, want)
			for _, target := range []string{"main/rocket", "dr/rocket"} {
				all := []provider.DocumentKind{provider.KindSBOM, provider.KindSBOM, provider.KindSigstore, provider.KindSigstore}
				if diff := cmp.Diff(all, m.documents(t, target)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", target, diff)
				}
			}
		})
	}
}
