package repository_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// questions returns the operations that request small documents from a registry.
func questions(t *testing.T) map[registrytest.Kind]func(context.Context, repository.Repository) error {
	t.Helper()
	b := blob("x")
	return map[registrytest.Kind]func(context.Context, repository.Repository) error{
		registrytest.Tags: func(ctx context.Context, r repository.Repository) error {
			_, err := r.Tags(ctx)
			return err
		},
		registrytest.ManifestGet: func(ctx context.Context, r repository.Repository) error {
			_, _, err := r.Manifest(ctx, "1.0.0")
			return err
		},
		registrytest.ManifestHead: func(ctx context.Context, r repository.Repository) error {
			return r.PushTag(ctx, index(t, "x"), "1.0.0", "")
		},
		registrytest.BlobGet: func(ctx context.Context, r repository.Repository) error {
			_, err := r.Blob(ctx, b.Descriptor)
			return err
		},
		registrytest.Referrers: func(ctx context.Context, r repository.Repository) error {
			_, _, err := r.Capabilities().Referrers(ctx, b.Descriptor.Digest)
			return err
		},
	}
}

// TestHTMLPageInsteadOfResponse checks the error for HTML pages with status 200, as
// sent by portals, login pages, and proxies.
func TestHTMLPageInsteadOfResponse(t *testing.T) {
	t.Parallel()
	for kind, ask := range questions(t) {
		if kind == registrytest.Referrers {
			continue // a page means that the registry doesn't have the API
		}
		for name, fault := range map[string]origintest.Fault{
			"unmodified":           origintest.HTML("Please log in"),
			"in another's clothes": origintest.Document("application/json", "\n <HTML><title>Please log in</title>"),
		} {
			if name != "unmodified" && (kind == registrytest.BlobGet || kind == registrytest.ManifestHead) {
				continue // a blob can contain anything, and a HEAD response has only a content type
			}
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				t.Parallel()
				s := newServer(t, registrytest.Options{})
				s.Misbehave(kind, fault, -1)
				err := ask(t.Context(), s.open(t))
				if !errors.Is(err, httpclient.ErrPage) {
					t.Fatalf("got %v", err)
				}
				if kind != registrytest.ManifestHead && !strings.Contains(err.Error(), "Please log in") || !strings.Contains(err.Error(), "https://"+s.host+"/v2/") {
					t.Errorf("got %v", err)
				}
				if n := s.Requests()[kind]; n != 1 {
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}

// TestTokenServicePage checks that the error mentions the HTML page, and not missing
// credentials.
func TestTokenServicePage(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{Username: "u", Password: "p", Bearer: true})
	s.Misbehave(registrytest.Token, origintest.HTML("Please log in"), -1)
	_, err := s.open(t).Tags(t.Context())
	if !errors.Is(err, httpclient.ErrPage) || !strings.Contains(err.Error(), "Please log in") {
		t.Errorf("got %v", err)
	}
}

// TestBlobIsHTMLPage checks that a blob can contain an HTML page.
func TestBlobIsHTMLPage(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{})
	b := blob("<!doctype html><title>a report</title>")
	pushBlob(t, s.open(t), b)
	body, err := s.open(t).Blob(t.Context(), b.Descriptor)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	if got, err := io.ReadAll(body); string(got) != string(b.Bytes) || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTruncatedLists(t *testing.T) {
	t.Parallel()
	for _, kind := range []registrytest.Kind{registrytest.Tags, registrytest.Referrers} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := newServer(t, registrytest.Options{})
			pushTag(t, s.open(t), index(t, "x"), "1.0.0", "")
			s.Misbehave(kind, origintest.Short(5), 2)
			if err := questions(t)[kind](t.Context(), s.open(t)); err != nil {
				t.Error(err)
			}
			if n := s.Requests()[kind]; n != 3 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// pages responds to each request with the same page of a list, which links to a new
// page.
func pages(contentType, text string) origintest.Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Link", fmt.Sprintf(`<%s?more=%s1>; rel="next"`, r.URL.Path, r.URL.Query().Get("more")))
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, text)
	}
}

func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	many := func(n int, element string) string { return strings.TrimSuffix(strings.Repeat(element+",", n), ",") }
	entry := `{"mediaType":"a","digest":"` + string(blob("x").Descriptor.Digest) + `","size":1}`
	for name, test := range map[string]struct {
		kind     registrytest.Kind
		fault    origintest.Fault
		requests int
		want     string
	}{
		"tags of a page":      {registrytest.Tags, pages("", `{"tags":[`+many(100_100, `""`)+`]}`), 1, "exceeds 100100 values"},
		"structs of a page":   {registrytest.Tags, pages("", `{"tags":[`+many(1<<20, `{}`)+`]}`), 1, "exceeds 100100 values"},
		"bytes of a page":     {registrytest.Tags, pages("", `{"tags":["`+strings.Repeat("a", artifact.MaxManifestSize)+`"]}`), 1, "list page exceeds 4194304 bytes"},
		"tags of all pages":   {registrytest.Tags, pages("", `{"tags":[`+many(40_000, `"a"`)+`]}`), 3, "list exceeds 100000 tags"},
		"bytes of all pages":  {registrytest.Tags, pages("", `{"tags":["`+strings.Repeat("a", 3<<20)+`"]}`), 3, "or 8388608 bytes"},
		"pages":               {registrytest.Tags, pages("", `{"tags":[]}`), 1000, "exceeded 1000 pages"},
		"referrers of a page": {registrytest.Referrers, pages(ocispec.MediaTypeImageIndex, `{"manifests":[`+many(1<<20, `{}`)+`]}`), 1, "exceeds 16384 values"},
		"referrers":           {registrytest.Referrers, pages(ocispec.MediaTypeImageIndex, `{"manifests":[`+many(600, entry)+`]}`), 2, "list exceeds 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, registrytest.Options{})
			s.Misbehave(test.kind, test.fault, -1)
			err := questions(t)[test.kind](t.Context(), s.open(t))
			if err == nil || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 600 {
				t.Errorf("got %.600v, want %s", err, test.want)
			}
			if n := s.Requests()[test.kind]; n != test.requests {
				t.Errorf("%d requests, want %d", n, test.requests)
			}
		})
	}
}

// TestStoredUnderDifferentDigest checks that PushBlob fails if the registry reports a
// different digest for the stored blob.
func TestStoredUnderDifferentDigest(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{})
	s.Misbehave(registrytest.UploadPut, s.Misname(), 1)
	b := blob("x")
	err := s.open(t).PushBlob(t.Context(), b.Descriptor, bytes.NewReader(b.Bytes))
	var mismatch *sums.MismatchError
	if !errors.As(err, &mismatch) || mismatch.Want != b.Descriptor.Digest.String() {
		t.Errorf("got %v", err)
	}
}
