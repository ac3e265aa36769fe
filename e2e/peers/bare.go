//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

const (
	// bareCommand is the first argument that makes this program send recorded requests.
	bareCommand = "send"
	bareClient  = "bare client"
	// lockedProviders is the number of providers that are locked.
	lockedProviders = 40
)

// sendRequests sends the requests in a file, one "METHOD URL" per line, and reads the
// responses. It uses as many connections as tofu-oci, and does nothing with the responses.
func sendRequests(file, ca string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: schedule.MaxRequestsToHost,
	}}
	var group errgroup.Group
	group.SetLimit(schedule.MaxRequestsToHost)
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		method, target, _ := strings.Cut(lines.Text(), " ")
		group.Go(func() error {
			req, err := http.NewRequestWithContext(context.Background(), method, target, nil)
			if err != nil {
				return err
			}
			req.Header.Set("Accept", acceptManifests)
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, resp.Body)
			return errors.Join(err, resp.Body.Close())
		})
	}
	return group.Wait()
}

// recorder is a proxy that records requests.
type recorder struct {
	mu   sync.Mutex
	sent []string
}

// start starts the proxy for the server at an address.
func (r *recorder) start(ctx context.Context, w *world, to string) (host string, stop func(), err error) {
	target := &url.URL{Scheme: "https", Host: to}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.ca.PEM())
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(target) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
	}
	at, stop, err := fixture.Serve(ctx, w.ca, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.sent = append(r.sent, req.Method+" https://"+to+req.URL.RequestURI())
		r.mu.Unlock()
		proxy.ServeHTTP(w, req)
	}))
	return strings.TrimPrefix(at, "https://"), stop, err
}

// compareBare returns a work that compares a command with a client that only sends the same
// requests. arguments returns the arguments of the command for a registry, and prepares the
// working directory.
func (s *site) compareBare(name, description string, ready func(context.Context) error, arguments func(dir, host string) ([]string, error)) work {
	file := filepath.Join(s.dir, "requests-"+strings.ReplaceAll(name, " ", "-"))
	run := func(_ context.Context, dir, host string) (command, error) {
		args, err := arguments(dir, host)
		return s.ours(dir, args...), err
	}
	requests := 0
	w := work{name: name, memoryOnly: true, rows: []row{{description, "tofu-oci", []string{bareClient}, 1.2}}}
	w.ready = func(ctx context.Context) error {
		if err := ready(ctx); err != nil {
			return err
		}
		r := &recorder{}
		host, stop, err := r.start(ctx, s.world, s.host)
		if err != nil {
			return err
		}
		defer stop()
		dir, err := os.MkdirTemp(s.dir, "record-*")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		c, err := run(ctx, dir, host)
		if err == nil {
			_, err = c.run(ctx)
		}
		if err != nil {
			return err
		}
		slices.Sort(r.sent)
		requests = len(r.sent)
		return os.WriteFile(file, []byte(strings.Join(r.sent, "\n")+"\n"), 0o600)
	}
	w.note = func() string {
		return fmt.Sprintf("%s sends %d requests. The %s sends the same requests, up to %d at once.", description, requests, bareClient, schedule.MaxRequestsToHost)
	}
	none := func(context.Context) error { return nil }
	w.doers = []doer{
		{"tofu-oci", func(ctx context.Context, dir string) (task, error) {
			c, err := run(ctx, dir, s.host)
			return task{command: c, right: none}, err
		}},
		{bareClient, func(_ context.Context, dir string) (task, error) {
			self, err := os.Executable()
			return task{command: command{
				args: []string{self, bareCommand, file, s.caFile}, dir: dir, environ: s.environ(), stdout: filepath.Join(dir, "stdout"),
			}, right: none}, err
		}},
	}
	return w
}

// lockMany returns the work of locking many providers for ten platforms.
func (s *site) lockMany() work {
	typ := func(i int) string { return fmt.Sprintf("lock%d", i) }
	var types []string
	for i := range lockedProviders {
		types = append(types, typ(i))
	}
	ready := func(ctx context.Context) error {
		for _, t := range types {
			if err := s.offerTiny(ctx, t, 1, manyPlatforms); err != nil {
				return err
			}
			if err := s.fill(ctx, t, namespace+"/"+t); err != nil {
				return err
			}
		}
		return nil
	}
	description := fmt.Sprintf("`lock` for %d providers × %d platforms", lockedProviders, manyPlatforms)
	return s.compareBare("lock 40", description, ready, func(dir, host string) ([]string, error) {
		return []string{"lock", "--from", host + "/{namespace}/{type}"}, require(dir, types...)
	})
}

// listMany returns the work of listing many versions.
func (s *site) listMany() work {
	return s.compareBare("list 200", fmt.Sprintf("`list` of %d versions", manyVersions), s.manyReleases, func(_, host string) ([]string, error) {
		return []string{"list", namespace + "/" + manyType, "--from", host + "/{namespace}/{type}"}, nil
	})
}

// verifyMany returns the work of verifying many releases, including the existence of blobs.
func (s *site) verifyMany() work {
	description := fmt.Sprintf("`verify` of %d versions × %d platforms", manyVersions, manyPlatforms)
	return s.compareBare("verify 200", description, s.manyReleases, func(_, host string) ([]string, error) {
		return []string{"verify", namespace + "/" + manyType, "--all", "--from", host + "/{namespace}/{type}"}, nil
	})
}

// manyReleases mirrors the provider with many releases to the registry.
func (s *site) manyReleases(ctx context.Context) error {
	if err := s.offerTiny(ctx, manyType, manyVersions, manyPlatforms); err != nil {
		return err
	}
	return s.fill(ctx, manyType, namespace+"/"+manyType)
}

// startUp returns the work of starting each program many times.
func (s *site) startUp() work {
	const times = 20
	run := func(name, text string) doer {
		return doer{name, func(_ context.Context, dir string) (task, error) {
			loop := fmt.Sprintf("i=0; while [ $i -lt %d ]; do %s >/dev/null || exit 1; i=$((i+1)); done", times, text)
			return task{
				command: command{args: []string{s.shell, "-c", loop}, dir: dir, environ: s.environ(), stdout: filepath.Join(dir, "stdout")},
				right:   func(context.Context) error { return nil },
			}, nil
		}}
	}
	return work{
		name:  "start",
		ready: func(context.Context) error { return nil },
		doers: []doer{run("version", s.tofuOCI+" version"), run("--help", s.tofuOCI+" --help"), run("crane version", s.crane+" version"), run("regctl version", s.regctl+" version")},
		rows: []row{
			{fmt.Sprintf("%d times `version` (target: 0.2 s)", times), "version", []string{"crane version", "regctl version"}, 1},
			{fmt.Sprintf("%d times `--help` (target: 0.2 s)", times), "--help", []string{"crane version", "regctl version"}, 1},
		},
		memoryOnly: true,
	}
}
