//go:build browser

package browser_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"testing"
	"time"
)

const (
	// maxSize is what a page may have, in bytes, and maxTime how long it may take.
	maxSize = 50_000
	maxTime = 100 * time.Millisecond
)

// TestSpeed: every page is small, and there at once when the server knows it.
func TestSpeed(t *testing.T) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(world.ca.PEM())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	for name, path := range map[string]string{
		"providers": "/", "search": "/?search=rocket", "no page": "/providers/registry.opentofu.org/acme/none",
		"versions": rocketPage, "version": rocketPage + "/" + newest, "older version": rocketPage + "/2.3.0",
	} {
		best, size := time.Hour, 0
		for range 5 { // the first one may have to read, and others may meet the machine's other work
			began := time.Now()
			answer, err := client.Get(world.site + path)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			best, size = min(best, time.Since(began)), len(body)
		}
		t.Logf("%s: %d bytes in %s", name, size, best)
		if size > maxSize || best > maxTime {
			t.Errorf("%s has %d bytes and takes %s", path, size, best)
		}
	}
}
