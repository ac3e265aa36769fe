package networkmirror_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// TestHostileDocuments checks that a mirror's unusable documents are errors.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	const index, list = "index.json", "1.2.3.json"
	body := func(text string) http.HandlerFunc { return respond(origintest.Document("application/json", text)) }
	many := func(format, wrap string, n int) http.HandlerFunc {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(format, i))
		}
		return body(fmt.Sprintf(wrap, strings.Join(items, ",")))
	}
	for name, test := range map[string]struct {
		file    string
		handler http.HandlerFunc
		want    string
	}{
		"endless index":            {index, respond(origintest.Oversized(1 << 62)), "response exceeds 1048576 bytes"},
		"endless list of packages": {list, respond(origintest.Oversized(1 << 62)), "response exceeds 1048576 bytes"},
		"too many versions":        {index, many(`"1.0.%d":{}`, `{"versions":{%s}}`, 10_001), "list has 10001 versions; the maximum is 10000"},
		"too many values":          {index, many(`"1.0.%d":[0,0,0,0,0,0,0,0]`, `{"versions":{%s}}`, 9_000), "exceeds 40000 values"},
		"too many platforms":       {list, many(`"os%d_x":{"url":"x"}`, `{"archives":{%s}}`, 257), "list has 257 platforms; the maximum is 256"},
		"deeply nested":            {index, body(strings.Repeat("[", 100)), "exceeds 64 levels"},
		"no JSON":                  {index, body("{"), "invalid JSON response"},
		"a list of versions":       {index, body(`{"versions":[]}`), "invalid JSON response"},
		"plain text":               {index, respond(origintest.Document("text/plain", "{}")), `unexpected content type "text/plain", want application/json`},
		"a login page":             {list, respond(origintest.HTML("Please log in")), `unexpected content type "text/html; charset=utf-8", want application/json: an HTML page titled "Please log in"`},
		"redirected to plain HTTP": {list, respond(origintest.Redirect("http://127.0.0.1:1/x")), "redirected from https to http"},
		"redirected forever": {list, func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, r.URL.Path, http.StatusFound) },
			"more than 10 redirects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.handlers[test.file] = test.handler
			_, err := w.read(t, "1.2.3")
			if err == nil || !strings.Contains(w.text(err), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// respond returns a handler with a fault.
func respond(fault origintest.Fault) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) { fault(rw, r, http.NotFound) }
}

// TestHostileArchives checks that unsafe URLs of archives are errors, and that other URLs have
// no effect on file names.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"":                       "url is not set",
		"file:///etc/passwd":     "url: invalid URL file:///etc/passwd: want https",
		"http://mirror.example/": "url: invalid URL http://mirror.example/: want https",
		"https:///x.zip":         "want https",
		":x":                     "url: ",
		"\x00":                   "url: ",
		"../../../../../../mirrors/tofu/thing/terraform-provider-thing_1.2.3_haiku_riscv64.zip": "",
		"..%2f..%2fetc%2fpasswd": "404 Not Found",
	} {
		t.Run(location, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.list(t, "1.2.3", map[string]entry{haiku.String(): {location, []string{sums.ZH(digest.FromBytes(w.zips[haiku]))}}})
			r, err := w.read(t, "1.2.3")
			if !strings.Contains(w.text(err), want) || (err != nil) != (want != "") {
				t.Errorf("got %v", err)
			}
			if err == nil && r.Packages[0].Filename != provider.Filename(w.address, version(t, "1.2.3"), haiku) {
				t.Errorf("the file name is %s", r.Packages[0].Filename)
			}
		})
	}
}

// TestHostileZips checks that zips with the wrong content are errors, whether or not their
// digest is known.
func TestHostileZips(t *testing.T) {
	t.Parallel()
	const name = "terraform-provider-thing_1.2.3_haiku_riscv64.zip"
	zip := zipOf(t, "haiku")
	zh, h1 := sums.ZH(digest.FromBytes(zip)), h1Of(t, zip)
	other := zipOf(t, "plan9")
	for label, test := range map[string]struct {
		handler http.HandlerFunc
		want    map[string]string
	}{
		"other content": {func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(other) },
			map[string]string{zh: "checksum of " + name + " is", h1: "lists the hash " + h1}},
		"huge": {func(rw http.ResponseWriter, _ *http.Request) { rw.Header().Set("Content-Length", "99999999999") },
			map[string]string{zh: "the maximum is", h1: "the maximum is"}},
		"a web page": {respond(origintest.HTML("Please log in")),
			map[string]string{zh: "expected a zip", h1: "expected a zip"}},
		"not a zip": {func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("text")) },
			map[string]string{zh: "checksum of " + name + " is", h1: "not a valid zip file"}},
	} {
		for hash, want := range test.want {
			t.Run(label+" "+hash[:2], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.restate(t, "1.2.3", hash)
				w.handlers[name] = test.handler
				if _, err := w.read(t, "1.2.3"); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}
