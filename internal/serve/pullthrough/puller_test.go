package pullthrough_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// blockedSource is a source whose zips are delayed until the test releases them.
type blockedSource struct {
	zip  []byte
	hold chan struct{}

	mu     sync.Mutex
	opened int
}

func (h *blockedSource) Versions(context.Context, provider.Address) ([]provider.Version, error) {
	return nil, provider.ErrProviderNotFound
}

func (h *blockedSource) Release(_ context.Context, a provider.Address, v provider.Version, _ ...provider.Platform) (provider.Release, error) {
	pkg := provider.Package{
		Address: a, Version: v, Platform: nouns.Plan9, Filename: provider.Filename(a, v, nouns.Plan9),
		Digest: digest.FromBytes(h.zip), Size: int64(len(h.zip)),
	}
	listed := sums.New(map[string]digest.Digest{pkg.Filename: pkg.Digest}).Bytes()
	return provider.Release{
		Address: a, Version: v, Packages: []provider.Package{pkg},
		Documents: []provider.Document{artifact.NewDocument(provider.SumsName(a, v), artifact.MediaTypeSums, listed)},
	}, nil
}

func (h *blockedSource) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	h.mu.Lock()
	h.opened++
	h.mu.Unlock()
	select {
	case <-h.hold:
		return sums.NewReadCloser(io.NopCloser(bytes.NewReader(h.zip)), p.Filename, p.Size, p.Digest), p.Size, nil
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// newPuller returns a puller for acme's releases, and the target layout.
func newPuller(t *testing.T, src provider.Source, change ...func(*pullthrough.Options)) (p *pullthrough.Puller, to template.Reference) {
	t.Helper()
	to = template.Reference{Layout: t.TempDir()}
	o := pullthrough.Options{
		Patterns: []provider.Pattern{pattern(t, "acme/*")}, Source: src, Dir: t.TempDir(),
		Open: func(ref template.Reference) (repository.Repository, error) {
			return repository.NewLayout(ref.Layout), nil
		},
	}
	for _, c := range change {
		c(&o)
	}
	p, err := pullthrough.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p, to
}

func pattern(t *testing.T, text string) provider.Pattern {
	t.Helper()
	p, err := provider.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// release returns a version of acme/rocket.
func release(t *testing.T, p *pullthrough.Puller, version string) provider.Release {
	t.Helper()
	r, err := p.Release(t.Context(), nouns.Address(t, "acme/rocket"), nouns.Version(t, version))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBusy checks that the number of waiting releases and the waiting time are limited.
func TestBusy(t *testing.T) {
	t.Parallel()
	zip := nouns.Zip(t, "rocket")
	synctest.Test(t, func(t *testing.T) {
		src := &blockedSource{zip: zip, hold: make(chan struct{})}
		p, to := newPuller(t, src)
		const most = 4 + 64
		var group sync.WaitGroup
		began := time.Now()
		for n := range most {
			r := release(t, p, fmt.Sprintf("1.%d.0", n))
			group.Go(func() {
				if _, err := p.Fetch(t.Context(), to, r, nouns.Plan9, nil); !errors.Is(err, pullthrough.ErrBusy) || time.Since(began) != 45*time.Second {
					t.Errorf("%s: %v after %s", r.Version, err, time.Since(began))
				}
			})
		}
		synctest.Wait()
		if src.opened != 4 {
			t.Errorf("%d zips are fetched concurrently, want 4", src.opened)
		}
		if _, err := p.Fetch(t.Context(), to, release(t, p, "2.0.0"), nouns.Plan9, nil); !errors.Is(err, pullthrough.ErrBusy) || time.Since(began) != 0 {
			t.Errorf("one more: %v after %s", err, time.Since(began))
		}
		group.Wait()
		p.Close()
	})
}

// TestMany checks that each waiting release is mirrored exactly once.
func TestMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &blockedSource{zip: nouns.Zip(t, "rocket"), hold: make(chan struct{})}
		ended := make(chan pullthrough.Event, 20)
		p, to := newPuller(t, src, func(o *pullthrough.Options) {
			o.OnEvent = func(e pullthrough.Event) {
				if e.Stage != pullthrough.StageStarted {
					ended <- e
				}
			}
		})
		defer p.Close()
		var group sync.WaitGroup
		for n := range 20 {
			r := release(t, p, fmt.Sprintf("1.%d.0", n%10))
			group.Go(func() {
				zip, err := p.Fetch(t.Context(), to, r, nouns.Plan9, nil)
				if errors.Is(err, pullthrough.ErrStored) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				zip.Close()
			})
		}
		close(src.hold)
		group.Wait()
		for range 10 {
			if e := <-ended; e.Err != nil || e.Status == "" {
				t.Errorf("events: %+v", e)
			}
		}
	})
}

// growing is a source whose first response is interrupted and reports a size that is
// too small. When the second response is read, retried is set.
type growing struct {
	*blockedSource
	retried *atomic.Bool
}

func (g growing) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	body, size, err := g.blockedSource.Open(ctx, p)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err != nil:
	case g.opened == 1:
		body, size = io.NopCloser(io.MultiReader(bytes.NewReader(g.zip[:1]), iotest.ErrReader(io.ErrUnexpectedEOF))), 2
	case g.opened == 2:
		body = &watched{body, g.retried}
	}
	return body, size, err
}

// watched is a reader that sets the flag read when it is read.
type watched struct {
	io.ReadCloser
	read *atomic.Bool
}

func (w *watched) Read(p []byte) (int, error) {
	w.read.Store(true)
	return w.ReadCloser.Read(p)
}

// TestDiskLimitOnRetry checks that a retry that reports a different size reserves disk
// space for the new size.
func TestDiskLimitOnRetry(t *testing.T) {
	t.Parallel()
	zip := nouns.Zip(t, "rocket")
	for name, test := range map[string]struct {
		disk int64
		kept bool
	}{
		"enough room": {int64(len(zip)), true},
		"too few":     {int64(len(zip)) - 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				src := growing{&blockedSource{zip: zip, hold: make(chan struct{})}, new(atomic.Bool)}
				close(src.hold)
				ended := make(chan struct{})
				p, to := newPuller(t, src, func(o *pullthrough.Options) {
					o.MaxDisk = test.disk
					o.Backoff = func(int) time.Duration { return 0 }
					o.OnEvent = func(e pullthrough.Event) {
						if e.Stage != pullthrough.StageStarted {
							close(ended)
						}
					}
				})
				defer p.Close()
				if z, err := p.Fetch(t.Context(), to, release(t, p, "1.0.0"), nouns.Plan9, nil); err == nil {
					z.Close()
				}
				<-ended
				if src.retried.Load() != test.kept {
					t.Errorf("retry stored on disk: %t, want %t", src.retried.Load(), test.kept)
				}
			})
		})
	}
}

// TestPanic checks that a panic in one mirror operation doesn't affect other mirror
// operations.
func TestPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &blockedSource{zip: nouns.Zip(t, "rocket"), hold: make(chan struct{})}
		p, to := newPuller(t, src)
		defer p.Close()
		r := release(t, p, "1.0.0")
		var broken *pullthrough.Puller
		var failed *pullthrough.FailedError
		broken, _ = newPuller(t, src, func(o *pullthrough.Options) {
			o.Publish.Verify = func(context.Context, provider.Release) (provider.Verdict, error) { panic("a bug") }
			o.OnEvent = func(e pullthrough.Event) {
				err := broken.Failure(to, r.Address, r.Version)
				if _, cached := errors.AsType[*pullthrough.FailedError](err); e.Stage == pullthrough.StageFailed && !cached {
					t.Errorf("not cached when callers continue: %v", err)
				}
			}
		})
		defer broken.Close()
		for range 2 {
			if _, err := broken.Fetch(t.Context(), to, r, nouns.Plan9, nil); !errors.As(err, &failed) || !strings.Contains(err.Error(), "a bug") {
				t.Errorf("got %v", err)
			}
		}
		if err := broken.Failure(to, r.Address, r.Version); !errors.As(err, &failed) {
			t.Errorf("not cached: %v", err)
		}
		var platform *provider.PlatformError
		if _, err := p.Fetch(t.Context(), to, r, nouns.Haiku, nil); !errors.As(err, &platform) {
			t.Errorf("missing platform: %v", err)
		}
	})
}

// TestOptions checks that options are rejected if clients could choose the host, or if
// a required option is missing.
func TestOptions(t *testing.T) {
	t.Parallel()
	open := func(template.Reference) (repository.Repository, error) { return nil, errors.New("nowhere") }
	for name, o := range map[string]pullthrough.Options{
		"any host":    {Patterns: []provider.Pattern{pattern(t, "acme/*"), pattern(t, "*/*/*")}, Source: &blockedSource{}, Open: open},
		"no patterns": {Source: &blockedSource{}, Open: open},
		"no source":   {Patterns: []provider.Pattern{pattern(t, "acme/*")}, Open: open},
	} {
		if _, err := pullthrough.New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// missingSource lists releases whose metadata or zips its server doesn't have.
type missingSource struct {
	blockedSource
	noMetadata bool
}

func (m *missingSource) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	if m.noMetadata {
		return provider.Release{}, &provider.StatusError{Method: http.MethodGet, URL: "https://example.com/SHA256SUMS", Status: http.StatusNotFound}
	}
	return m.blockedSource.Release(ctx, a, v, only...)
}

func (m *missingSource) Open(context.Context, provider.Package) (io.ReadCloser, int64, error) {
	return nil, 0, &provider.StatusError{Method: http.MethodGet, URL: "https://example.com/x.zip", Status: http.StatusNotFound}
}

// TestBroken checks that a version is broken if its metadata doesn't exist.
func TestBroken(t *testing.T) {
	t.Parallel()
	a, v := nouns.Address(t, "acme/rocket"), nouns.Version(t, "1.0.0")
	src := &missingSource{noMetadata: true}
	p, _ := newPuller(t, src)
	defer p.Close()
	if p.IsBroken(a, v) {
		t.Error("broken before the first request")
	}
	if _, err := p.Release(t.Context(), a, v); !pullthrough.IsMissing(err) {
		t.Errorf("got %v", err)
	}
	if !p.IsBroken(a, v) || p.IsBroken(a, nouns.Version(t, "1.1.0")) {
		t.Error("want only 1.0.0 to be broken")
	}
}
