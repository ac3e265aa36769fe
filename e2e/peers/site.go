//go:build unix

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
)

// site is a place with its servers: a directory, and a registry that stores blobs in
// this directory.
type site struct {
	*world
	place place
	dir   string
	// host is the registry's address, "localhost:PORT".
	host string
	stop func()
	// filled lists the providers that exist in the registry.
	filled map[string]bool
	client *http.Client
}

func newSite(ctx context.Context, w *world, p place) (*site, error) {
	dir, err := os.MkdirTemp(p.dir, "peers-*")
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.ca.PEM())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	s := &site{world: w, place: p, dir: dir, stop: func() {}, filled: map[string]bool{}, client: &http.Client{Transport: transport}}
	for _, name := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			s.close()
			return nil, err
		}
	}
	if s.host, s.stop, err = s.startRegistry(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *site) close() {
	if s.stop != nil {
		s.stop()
	}
	s.client.CloseIdleConnections()
	_ = os.RemoveAll(s.dir)
}

// startRegistry starts an empty registry that allows all requests.
func (s *site) startRegistry(ctx context.Context) (host string, stop func(), err error) {
	return s.startRegistryWith(ctx, "")
}

// startRegistryWith starts an empty registry. For more, see [fixture.StartRegistry].
func (s *site) startRegistryWith(ctx context.Context, more string) (host string, stop func(), err error) {
	dir, err := os.MkdirTemp(s.dir, "registry-*")
	if err != nil {
		return "", nil, err
	}
	host, end, err := fixture.StartRegistry(ctx, s.registry, dir, more, s.ca)
	return host, func() {
		if end != nil {
			end()
		}
		_ = os.RemoveAll(dir)
	}, err
}

// environ returns the environment of all programs. The environment excludes the
// machine's configuration and sets a shared directory for temporary files.
func (s *site) environ(more ...string) []string {
	home := filepath.Join(s.dir, "home")
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "DOCKER_CONFIG=" + home, "TMPDIR=" + filepath.Join(s.dir, "tmp"),
		"SSL_CERT_FILE=" + s.caFile, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1",
	}, more...)
}

// ours returns a tofu-oci command.
func (s *site) ours(dir string, args ...string) command {
	return command{
		args: append([]string{s.tofuOCI}, args...), dir: dir, environ: s.environ("TF_CLI_CONFIG_FILE=" + s.config),
		stdout: filepath.Join(dir, "stdout"),
	}
}

// fill mirrors a provider to the registry if the provider does not exist there.
func (s *site) fill(ctx context.Context, typ, to string) error {
	if s.filled[to] {
		return nil
	}
	say("%s: filling the registry with %s", s.place.name, typ)
	dir, err := os.MkdirTemp(s.dir, "fill-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if _, err := s.ours(dir, "mirror", namespace+"/"+typ, "--all", "--to", s.host+"/"+to).run(ctx); err != nil {
		return err
	}
	s.filled[to] = true
	return nil
}

// idle returns the peak memory of a program that only lists versions.
func (s *site) idle(ctx context.Context) (peak int64, err error) {
	if err := s.bigPackages(ctx, 1); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp(s.dir, "idle-*")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	took, err := s.ours(dir, "list", namespace+"/"+bigType(0), "--from", s.host+"/{namespace}/{type}").run(ctx)
	return took.Peak, err
}

// bigPackages mirrors n large packages to the registry.
func (s *site) bigPackages(ctx context.Context, n int) error {
	for i := range n {
		if err := s.offerBig(ctx, bigType(i), true, s.big[i]); err != nil {
			return err
		}
		if err := s.fill(ctx, bigType(i), namespace+"/"+bigType(i)); err != nil {
			return err
		}
	}
	return nil
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
