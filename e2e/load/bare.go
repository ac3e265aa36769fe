//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/e2e/page"
)

// bareCommand is the first argument that makes this program a server without any logic.
const bareCommand = "bare"

// listURL returns the URL of the list of versions.
func (w *world) listURL() string {
	return w.layout.URL + "/mirror/registry.opentofu.org/acme/rocket/index.json"
}

// serveBare responds to all requests with the content of a file, over TLS.
func serveBare(address, certificates, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: address, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(content)
	})}
	return server.ListenAndServeTLS(filepath.Join(certificates, "cert.pem"), filepath.Join(certificates, "key.pem"))
}

// startBare starts a server without any logic that serves the same list with the same
// certificate.
func (w *world) startBare(ctx context.Context) error {
	list := filepath.Join(w.dir, "list.json")
	client := w.client()
	defer client.CloseIdleConnections()
	content, err := download(ctx, client, w.listURL())
	if err == nil {
		err = os.WriteFile(list, content, 0o600)
	}
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	host, err := fixture.FreeAddress(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, bareCommand, host, filepath.Join(w.dir, "of-layout"), list)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	w.stops = append(w.stops, func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	w.bareURL = "https://" + host
	return fixture.Answers(ctx, w.bareURL, w.ca, ended)
}

// client returns a client that uses a new connection.
func (w *world) client() *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.ca.PEM())
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
}

func download(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(url + ": " + resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// connected contains the 99th percentiles of requests on new connections that are all opened
// at once, per round.
type connected struct{ ours, bare []time.Duration }

// ratio returns tofu-oci's median divided by the median of the bare server.
func (c connected) ratio() float64 {
	return page.Median(c.ours).Seconds() / page.Median(c.bare).Seconds()
}

// measureConnecting opens connections to both servers in turn.
func (w *world) measureConnecting(ctx context.Context, rounds int) (c connected, err error) {
	for round := range rounds + 1 {
		ours, err := w.connectAll(ctx, w.listURL())
		if err != nil {
			return c, err
		}
		bare, err := w.connectAll(ctx, w.bareURL)
		if err != nil {
			return c, err
		}
		say("%d connections at once, %d of %d: tofu-oci %s, bare server %s", connections, round, rounds, ours, bare)
		if round > 0 {
			c.ours, c.bare = append(c.ours, ours), append(c.bare, bare)
		}
	}
	return c, nil
}

// connectAll sends one request on each of many new connections at once, and returns the 99th
// percentile of the durations.
func (w *world) connectAll(ctx context.Context, url string) (time.Duration, error) {
	took := make([]time.Duration, connections)
	var group errgroup.Group
	for i := range took {
		group.Go(func() error {
			client := w.client()
			defer client.CloseIdleConnections()
			began := time.Now()
			_, err := download(ctx, client, url)
			took[i] = time.Since(began)
			return err
		})
	}
	err := group.Wait()
	slices.Sort(took)
	return took[len(took)*99/100], err
}
