package httpclient_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

// TestLargeUploadsGoApart: small ones share a connection of HTTP/2.
func TestLargeUploadsGoApart(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	client := newClient(t, httpclient.Options{CAFile: caFile(t, s)})
	for size, want := range map[int]string{1: "HTTP/2.0", schedule.MaxSmall: "HTTP/2.0", schedule.MaxSmall + 1: "HTTP/1.1"} {
		resp := put(t, client, s.URL, size)
		if resp.Proto != want {
			t.Errorf("%d bytes go by %s, not %s", size, resp.Proto, want)
		}
	}
}

// TestRefusedUpload: a server that refuses a large upload and reads no more of it is
// heard, though the connection ends in mid-way.
func TestRefusedUpload(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
	}))
	t.Cleanup(s.Close)
	client := newClient(t, httpclient.Options{CAFile: caFile(t, s)})
	for range 20 {
		if resp := put(t, client, s.URL, 16<<20); resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("got %s", resp.Status)
		}
	}
}

func put(t *testing.T, client *http.Client, target string, size int) *http.Response {
	t.Helper()
	// Not a reader of its own, which could be begun anew.
	body := struct{ *bytes.Reader }{bytes.NewReader(make([]byte, size))}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, target, body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = int64(size)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}
