//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// archiveSize is the size of a large provider's zip in bytes.
const archiveSize = 300e6

// world contains the servers and their content.
type world struct {
	tofuOCI, vegeta, curl, nginx string
	dir, caFile                  string
	ca                           *testca.CA
	// layout serves an image layout. warm serves a registry, and its store contains the
	// archive.
	layout, warm *fixture.Server
	// idle is the memory of a server that receives no requests, in bytes.
	idle int64
	// path is the archive's path in the URL of a tofu-oci server.
	path string
	// nginxURL is the archive's URL on the nginx server.
	nginxURL string
	// bareURL is the URL of a server without any logic that serves a list of versions.
	bareURL string
	stops   []func()
}

func newWorld(ctx context.Context, disk string) (w *world, err error) {
	w = &world{}
	if w.tofuOCI, w.vegeta = os.Getenv("TOFU_OCI"), os.Getenv("VEGETA"); w.tofuOCI == "" || w.vegeta == "" {
		return nil, errors.New("TOFU_OCI or VEGETA is not set: run make " + target)
	}
	if w.curl, err = exec.LookPath("curl"); err != nil {
		return nil, err
	}
	if w.nginx, err = findNginx(ctx); err != nil {
		return nil, err
	}
	if w.dir, err = os.MkdirTemp(disk, "load-*"); err != nil {
		return nil, err
	}
	if err := w.start(ctx); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *world) close() {
	for _, stop := range w.stops {
		stop()
	}
	_ = os.RemoveAll(w.dir)
}

// start creates the release and starts the servers.
func (w *world) start(ctx context.Context) (err error) {
	if w.ca, err = testca.New(); err != nil {
		return err
	}
	w.caFile = filepath.Join(w.dir, "ca.pem")
	if err := os.WriteFile(w.caFile, w.ca.PEM(), 0o600); err != nil {
		return err
	}
	layout := "oci-layout:" + filepath.ToSlash(w.dir) + "/layout/{type}"
	registry, stop, err := fixture.Serve(ctx, w.ca, registrytest.New(registrytest.Options{}))
	if err != nil {
		return err
	}
	w.stops = append(w.stops, stop)
	from := strings.TrimPrefix(registry, "https://") + "/acme/{type}"
	if err := w.fill(ctx, layout, from); err != nil {
		return err
	}
	if w.layout, err = w.serve(ctx, "of-layout", "--from", layout); err != nil {
		return err
	}
	if w.idle, err = w.layout.Peak(); err != nil {
		return err
	}
	if w.warm, err = w.serve(ctx, "of-store", "--from", from, "--cache", filepath.Join(w.dir, "store")); err != nil {
		return err
	}
	return errors.Join(w.startBare(ctx), w.startNginx(ctx))
}

func (w *world) serve(ctx context.Context, name string, args ...string) (*fixture.Server, error) {
	dir := filepath.Join(w.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	server, err := fixture.StartServer(ctx, w.tofuOCI, dir, w.ca, append(args, "--ca-file", w.caFile)...)
	if err == nil {
		w.stops = append(w.stops, server.Kill)
	}
	return server, err
}

// listed is the number of versions that the provider's list contains.
const listed = 50

// fill pushes one provider's releases to all repositories. The newest release is large.
// fill also writes the large archive to the directory that nginx serves.
func (w *world) fill(ctx context.Context, templates ...string) error {
	say("making an archive of %d MB and %d versions", int(archiveSize/1e6), listed)
	here := provider.CurrentPlatform()
	address, err := provider.ParseAddress("acme/rocket")
	if err != nil {
		return err
	}
	signer, err := fixture.NewSigner()
	if err != nil {
		return err
	}
	var repositories []repository.Repository
	for _, text := range templates {
		repo, err := w.open(text, address)
		if err != nil {
			return err
		}
		repositories = append(repositories, repo)
	}
	for i := range listed {
		v, err := provider.ParseVersion(fmt.Sprintf("1.%d.0", i))
		if err != nil {
			return err
		}
		content := []byte(v.String())
		if i == listed-1 {
			content = make([]byte, archiveSize)
			_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
			if err := w.forNginx(content); err != nil {
				return err
			}
			w.path = fmt.Sprintf("/archive/-/%s/%s/%s", address, v, provider.Filename(address, v, here))
		}
		for _, repo := range repositories {
			r := provider.Release{Address: address, Version: v, Protocols: []string{"5.0"}}
			if err := fixture.PushRelease(ctx, repo, r, map[provider.Platform][]byte{here: content}, signer); err != nil {
				return err
			}
		}
	}
	return nil
}
