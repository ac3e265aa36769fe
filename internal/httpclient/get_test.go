package httpclient_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestGetIsBounded(t *testing.T) {
	t.Parallel()
	chunked := func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush() // sends the headers without a Content-Length
		respond("123456")(w, r)
	}
	for name, step := range map[string]http.HandlerFunc{"known length": respond("123456"), "unknown length": chunked} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, step)
			client := newClient(t, httpclient.Options{})
			u := parse(t, s.URL+"/doc?sig=secret")
			doc, err := httpclient.Get(t.Context(), client, u, httpclient.Request{Limit: 6})
			if string(doc.Bytes) != "123456" || err != nil {
				t.Errorf("at the limit: %q, %v", doc.Bytes, err)
			}
			_, err = httpclient.Get(t.Context(), client, u, httpclient.Request{Limit: 5})
			if provider.KindOf(err) != provider.Refused || s.requests() != 2 {
				t.Errorf("over the limit: %v after %d requests", err, s.requests())
			}
			if want := "GET " + s.URL + "/doc: response exceeds 5 bytes"; fmt.Sprint(err) != want {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestGetReturnsFinalURL(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/end", http.StatusFound)
	}, func(w http.ResponseWriter, r *http.Request) { respond(r.Header.Get("Accept"))(w, r) })
	header := http.Header{"Accept": {"application/json"}}
	doc, err := httpclient.Get(t.Context(), newClient(t, httpclient.Options{}), s.url(t),
		httpclient.Request{Header: header, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	if string(doc.Bytes) != "application/json" || doc.URL.String() != s.URL+"/end" {
		t.Errorf("got %q from %s", doc.Bytes, doc.URL)
	}
	if diff := cmp.Diff(http.Header{"Accept": {"application/json"}}, header); diff != "" {
		t.Errorf("the caller's header was changed: %s", diff)
	}
}

func TestDeniedIsACondition(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]bool{401: true, 403: true, 404: false, 500: false} {
		err := error(&provider.StatusError{Status: code})
		if errors.Is(err, provider.ErrForbidden) != want {
			t.Errorf("%d: denied should be %t", code, want)
		}
	}
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 600)
	tests := []struct{ name, contentType, body, want string }{
		{"text", "text/plain", " a\tb\r\n\x00c\x1b[0m ", "a b c [0m"},
		{"invalid text", "", "a\xffb", "a\uFFFDb"},
		{"long text", "", long, strings.Repeat("é", 512) + "…"},
		{"page", "text/html; charset=utf-8", "<html><TITLE>\n Sign in &amp; wait\n</TITLE>", `an HTML page titled "Sign in & wait"`},
		{"page without title", "text/html", "<p>no", "an HTML page"},
		{"page in disguise", "application/json", "\n<!DOCTYPE HTML>", "an HTML page"},
		{"nothing", "application/json", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, httpclient.Excerpt(test.contentType, []byte(test.body), nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
