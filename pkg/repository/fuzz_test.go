package repository_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// transport is an [http.RoundTripper] that calls a function.
type transport func(*http.Request) *http.Response

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// responding returns a repository in a registry that sends the same response to every
// request.
func responding(t *testing.T, status int, contentType, link string, body []byte) repository.Repository {
	t.Helper()
	header := http.Header{"Content-Type": {contentType}}
	if link != "" {
		header.Set("Link", link)
	}
	client := &http.Client{Transport: transport(func(r *http.Request) *http.Response {
		return &http.Response{
			StatusCode: status, Request: r, Header: header, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
		}
	})}
	r, err := repository.Open(template.Reference{Registry: "registry.example", Name: repositoryName}, repository.Options{HTTP: client, Backoff: func(int) time.Duration { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// FuzzResponses tests arbitrary responses to requests for lists and manifests.
func FuzzResponses(f *testing.F) {
	f.Add(200, "application/json", "", []byte(`{"tags":["1.0.0","latest",""]}`))
	f.Add(200, ocispec.MediaTypeImageIndex, "", []byte(`{"manifests":[{"digest":"sha256:x"},null]}`))
	f.Add(200, "text/html", "", []byte(`<html><title>log in</title>`))
	f.Add(200, "", `<?more=1>; rel="next"`, []byte(`{"TAGS":["a"],"tags":null}`))
	f.Add(404, "", "", []byte(`{"errors":[{"code":""},{"code":"NAME_UNKNOWN","detail":{"message":7}}]}`))
	f.Fuzz(func(t *testing.T, status int, contentType, link string, body []byte) {
		if status < 200 || status > 599 || status/100 == 3 || status == 401 || link != "" && status == 200 && !strings.Contains(link, "://") && bytes.Contains(body, []byte("{")) {
			return // skip redirects, authentication challenges, and lists with many pages
		}
		r := responding(t, status, contentType, link, body)
		tags, tagsErr := r.Tags(t.Context())
		_, data, err := r.Manifest(t.Context(), "1.0.0")
		if err == nil && !bytes.Equal(data, body) {
			t.Errorf("a manifest of %q is %q", body, data)
		}
		_, _, referrersErr := r.Capabilities().Referrers(t.Context(), digest.FromString("x"))
		for _, err := range []error{tagsErr, err, referrersErr} {
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
		}
		if tagsErr != nil && len(tags) > 0 {
			t.Errorf("%q beside %v", tags, tagsErr)
		}
	})
}

// FuzzLayoutIndex tests layouts with an arbitrary index.json. If the layout is
// readable, adding a tag keeps the existing tags.
func FuzzLayoutIndex(f *testing.F) {
	entry := `{"mediaType":"` + ocispec.MediaTypeImageIndex + `","digest":"` + digest.FromString("x").String() + `","size":1,"annotations":{"` + ocispec.AnnotationRefName + `":"1.0.0"}}`
	f.Add([]byte(`{"schemaVersion":2,"manifests":[` + entry + `]}`))
	f.Add([]byte(`{"manifests":[` + entry + `,` + entry + `],"MANIFESTS":[null,{"annotations":null}]}`))
	f.Add([]byte(`{"manifests":[{"digest":"sha256:../../x","annotations":{"` + ocispec.AnnotationRefName + `":"2.0.0"}}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, index []byte) {
		dir := t.TempDir()
		for name, text := range map[string][]byte{ocispec.ImageLayoutFile: []byte(`{"imageLayoutVersion":"1.0.0"}`), ocispec.ImageIndexFile: index} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		checkLayout(t.Context(), t, repository.NewLayout(dir))
	})
}

func checkLayout(ctx context.Context, t *testing.T, layout repository.Repository) {
	t.Helper()
	before, err := layout.Tags(ctx)
	if err != nil {
		return
	}
	for _, tag := range before {
		if _, _, err := layout.Manifest(ctx, tag); err == nil {
			t.Errorf("%q leads to a manifest in a layout without blobs", tag)
		}
	}
	const added = "9.9.9"
	if slices.Contains(before, added) {
		return
	}
	b := blob("{}")
	if err := layout.PushTag(ctx, b, added, ""); err != nil {
		t.Fatal(err)
	}
	if _, data, err := layout.Manifest(ctx, added); err != nil || !bytes.Equal(data, b.Bytes) {
		t.Errorf("%q, %v", data, err)
	}
	after, err := layout.Tags(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range before {
		if !slices.Contains(after, tag) {
			t.Errorf("the tag %q is lost", tag)
		}
	}
	if err := layout.PushTag(ctx, b, added, ""); !errors.Is(err, repository.ErrTagMoved) {
		t.Errorf("a tag that is there was taken for none: %v", err)
	}
}
