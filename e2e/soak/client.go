//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"
)

// ask runs all clients for the given duration.
func (w *world) ask(ctx context.Context, last time.Duration) error {
	until, cancel := context.WithTimeout(ctx, last)
	defer cancel()
	var clients errgroup.Group
	for i := range w.clients {
		clients.Go(func() error {
			c := client{w, rand.New(rand.NewPCG(w.seed, i+1))}
			tick := time.NewTicker(time.Duration(float64(time.Second) / w.rate))
			defer tick.Stop()
			for {
				select {
				case <-until.Done():
					return nil
				case <-tick.C:
					c.once(until)
				}
			}
		})
	}
	if err := clients.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// client sends random requests.
type client struct {
	*world
	random *rand.Rand
}

// path returns a random path.
func (c client) path() string {
	typ, version := fmt.Sprintf("rocket%d", c.random.IntN(providers)), fmt.Sprintf("1.%d.0", c.random.IntN(releases))
	p := platforms()[c.random.IntN(len(platforms()))]
	mirror, registry := "/mirror/registry.opentofu.org/acme/"+typ, "/v1/providers/acme/"+typ
	archive := fmt.Sprintf("/archive/-/registry.opentofu.org/acme/%s/%s/terraform-provider-%s_%s_%s.zip", typ, version, typ, version, p)
	paths := []string{
		mirror + "/index.json", mirror + "/" + version + ".json", mirror + "/9.9.9.json", registry + "/versions",
		registry + "/" + version + "/download/" + p.OS + "/" + p.Arch, archive, archive, archive,
		"/.well-known/terraform.json", "/healthz", "/readyz", "/mirror/registry.opentofu.org/acme/nothing/index.json", "/mirror/../../etc/passwd",
		fmt.Sprintf("/mirror/registry.opentofu.org/acme/unknown%d/index.json", c.random.IntN(1<<20)),
	}
	return paths[c.random.IntN(len(paths))]
}

// once sends a random request and checks the response. The request can fail, but a
// successful response must have the correct content.
func (c client) once(ctx context.Context) {
	asking, leave := context.WithCancel(ctx)
	defer leave()
	what := c.path()
	req, err := http.NewRequestWithContext(asking, []string{http.MethodGet, http.MethodGet, http.MethodGet, http.MethodHead}[c.random.IntN(4)], c.url+what, nil)
	if err != nil {
		c.wrong(err)
		return
	}
	const parts, leavers = 3, 8
	if c.random.IntN(parts) == 0 {
		req.Header.Set("Range", []string{"bytes=1000-", "bytes=0-99", "bytes=5-10,20-30", "bytes=900000-", "bytes=-7"}[c.random.IntN(5)])
	}
	if c.random.IntN(leavers) == 0 {
		timer := time.AfterFunc(time.Duration(c.random.IntN(int(100*time.Millisecond))), leave)
		defer timer.Stop()
	}
	resp, err := c.https.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || req.Method == http.MethodHead {
		return
	}
	if err := c.checkContent(what, content); err != nil {
		c.wrong(fmt.Errorf("%s: %w", what, err))
	}
}

// checkContent checks the content of a complete response.
func (c client) checkContent(what string, content []byte) error {
	name := path.Base(what)
	if want, isArchive := c.archives[name]; isArchive {
		if got := digest.FromBytes(content); got != want {
			return fmt.Errorf("the archive has %d bytes of %s, want %s", len(content), got, want)
		}
		return nil
	}
	if !json.Valid(content) {
		return fmt.Errorf("response is not JSON: %.100s", content)
	}
	if strings.HasPrefix(what, "/mirror/") && name == "index.json" && strings.Count(string(content), `"1.`) != releases {
		return fmt.Errorf("want %d versions, got: %.300s", releases, content)
	}
	return nil
}
