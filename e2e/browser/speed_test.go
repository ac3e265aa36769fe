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
	// maxSize is the maximum size of a page in bytes, and maxTime the maximum time to
	// load it.
	maxSize = 60_000
	maxTime = 100 * time.Millisecond
)

// TestSpeed checks that every page is small, and that cached pages load fast.
func TestSpeed(t *testing.T) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(world.ca.PEM())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	for name, path := range map[string]string{
		"home": "/", "recent": "/?show=recent", "search": "/?search=rocket", "no page": "/providers/registry.opentofu.org/acme/none",
		"pending version": rocketPage + "/" + staged, "broken version": brokenPage, "modules": "/modules", "module": vpcPage, "module version": vpcPage + "/1.2.0",
		"versions": rocketPage, "version": rocketPage + "/" + newest, "older version": rocketPage + "/2.3.0",
	} {
		best, size := time.Hour, 0
		for range 5 { // the first request fills the cache, and later requests can be slow on a busy machine
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
