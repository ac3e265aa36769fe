package repository_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// TestTokensStayWithTheirRepository checks that a client process sends each token only
// to requests for the repository that the token was issued for.
func TestTokensStayWithTheirRepository(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{Username: "user", Password: "password", Bearer: true})
	s.options.Credential = func(context.Context, string) (repository.Credential, error) {
		return repository.Credential{Username: "user", Password: "password"}, nil
	}
	var mu sync.Mutex
	// seen maps each token to the repository that it was sent for.
	seen, scopes := map[string]string{}, map[string]bool{}
	s.Misbehave(registrytest.Token, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		mu.Lock()
		for _, scope := range r.URL.Query()["scope"] {
			scopes[strings.Split(scope, ":")[1]] = true
			if len(r.URL.Query()["scope"]) > 1 {
				t.Errorf("one token for several repositories: %q", r.URL.Query())
			}
		}
		mu.Unlock()
		honest(w, r)
	}, -1)
	watch := func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		name := strings.Join(strings.Split(r.URL.Path, "/")[2:4], "/")
		mu.Lock()
		if other, known := seen[token]; token != "" && known && other != name {
			t.Errorf("the token for %s came for %s", other, name)
		}
		seen[token] = name
		mu.Unlock()
		honest(w, r)
	}
	for _, kind := range []registrytest.Kind{registrytest.Tags, registrytest.ManifestHead, registrytest.ManifestPut, registrytest.UploadPost, registrytest.UploadPut} {
		s.Misbehave(kind, watch, -1)
	}
	var repositories []repository.Repository
	for _, name := range []string{"acme/one", "acme/two"} {
		r, err := repository.Open(template.Reference{Registry: s.host, Name: name}, s.options)
		if err != nil {
			t.Fatal(err)
		}
		repositories = append(repositories, r)
	}
	for range 2 {
		for _, r := range repositories {
			pushBlob(t, r, blob("content"))
			pushTag(t, r, index(t, "a"), "1.0.0", "")
			if _, err := r.Tags(t.Context()); err != nil {
				t.Error(err)
			}
			s.Delete(t, strings.TrimPrefix(r.String(), s.host+"/"), "1.0.0")
		}
	}
	if !scopes["acme/one"] || !scopes["acme/two"] || len(scopes) != 2 || len(seen) < 3 {
		t.Errorf("scopes %v, tokens %v", scopes, seen)
	}
}
