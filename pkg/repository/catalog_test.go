package repository_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// catalogOf starts the registry r and lists its repositories.
func catalogOf(t *testing.T, r *registrytest.Registry) ([]string, error) {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	host := registrytest.Serve(t, ca, r)
	return repository.Catalog(t.Context(), template.Reference{Registry: host, Name: "acme/x"}, repository.Options{
		HTTP: registrytest.Client(t, ca), Backoff: func(int) time.Duration { return 0 },
		Credential: func(context.Context, string) (repository.Credential, error) {
			return repository.Credential{Username: "ci", Password: "secret"}, nil
		},
	})
}

func TestCatalogIsReadByPages(t *testing.T) {
	t.Parallel()
	for _, bearer := range []bool{false, true} {
		r := registrytest.New(registrytest.Options{PageSize: 2, Username: "ci", Password: "secret", Bearer: bearer})
		pages := map[string]string{
			"":  `{"repositories":["acme/a","acme/b"]}`,
			"b": `{"repositories":["acme/c"]}`,
		}
		got, err := catalogOf(t, r)
		if err != nil || len(got) != 0 {
			t.Errorf("nothing is there: %q, %v", got, err)
		}
		r.Misbehave(registrytest.Catalog, func(w http.ResponseWriter, req *http.Request, _ http.HandlerFunc) {
			last := req.URL.Query().Get("last")
			if last == "" {
				w.Header().Set("Link", `</v2/_catalog?last=b&n=2>; rel="next"`)
			}
			_, _ = w.Write([]byte(pages[last]))
		}, -1)
		got, err = catalogOf(t, r)
		if diff := cmp.Diff([]string{"acme/a", "acme/b", "acme/c"}, got); diff != "" || err != nil {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	}
}

// TestNoCatalog checks the error for registries that do not list their repositories.
func TestNoCatalog(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 405, 501} {
		_, err := catalogOf(t, registrytest.New(registrytest.Options{NoCatalog: status}))
		none, is := errors.AsType[*repository.Error](err)
		if !is || none.Registry == "" || !isCatalog(err) || !strings.Contains(err.Error(), "does not list its repositories") {
			t.Errorf("%d: %v", status, err)
		}
	}
	r := registrytest.New(registrytest.Options{})
	r.Misbehave(registrytest.Catalog, func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>Log in</title>"))
	}, -1)
	if _, err := catalogOf(t, r); !isCatalog(err) {
		t.Errorf("a page: %v", err)
	}
	// A registry that is down might support the catalog, so Catalog must not return
	// ErrNoCatalog.
	r.Behave()
	r.Misbehave(registrytest.Catalog, registrytest.Refuse(http.StatusBadGateway, "UNKNOWN", "down"), -1)
	if _, err := catalogOf(t, r); err == nil || isCatalog(err) {
		t.Errorf("down: %v", err)
	}
}

func isCatalog(err error) bool {
	return errors.Is(err, repository.ErrNoCatalog)
}

// TestEndlessCatalogs checks that Catalog limits the number and size of pages and does
// not follow links to other hosts.
func TestEndlessCatalogs(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	next := func(w http.ResponseWriter, n int) {
		w.Header().Set("Link", fmt.Sprintf(`</v2/_catalog?last=%d>; rel="next"`, n))
	}
	for name, fault := range map[string]origintest.Fault{
		"empty pages": func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
			next(w, 1)
			_, _ = w.Write([]byte(`{"repositories":null}`))
		},
		"long names": func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
			next(w, 2)
			_, _ = w.Write([]byte(`{"repositories":["` + strings.Repeat("a", 3<<20) + `"]}`))
		},
		"many names": func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
			next(w, 3)
			_, _ = w.Write([]byte(`{"repositories":[` + strings.Join(slices.Repeat([]string{`"x"`}, 60_000), ",") + `]}`))
		},
		"a page without end": func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
			_, _ = w.Write([]byte(`{"repositories":["` + strings.Repeat("a", 5<<20) + `"]}`))
		},
		"another host": func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
			w.Header().Set("Link", `<https://evil.example.com/v2/_catalog?last=x>; rel="next"`)
			_, _ = w.Write([]byte(`{"repositories":["a"]}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := registrytest.New(registrytest.Options{})
			r.Misbehave(registrytest.Catalog, fault, -1)
			if names, err := catalogOf(t, r); err == nil || isCatalog(err) {
				t.Errorf("%d names, %v", len(names), err)
			}
		})
	}
}
