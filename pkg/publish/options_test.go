package publish_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

var registrytestOptions registrytest.Options

func TestDryRun(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		dry := func(want publish.Status, platforms ...provider.Platform) {
			t.Helper()
			state, zips := to.state(t), w.origin.Requests()[origintest.Zip]
			result, err := w.run(t, to, publish.Options{DryRun: true, Platforms: platforms})
			if err != nil || result.Status != want || len(sent(result)) != 0 {
				t.Errorf("%+v, %v", result, err)
			}
			if (result.Digest == "") != (want != publish.Unchanged) {
				t.Errorf("%s: digest %q", want, result.Digest)
			}
			if len(result.Packages) != len(platforms) && len(platforms) > 0 {
				t.Errorf("%d packages", len(result.Packages))
			}
			if to.state(t) != state || w.origin.Requests()[origintest.Zip] != zips {
				t.Errorf("%s: the tag moved", want)
			}
		}
		dry(publish.Created)
		w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{minix, plan9}})
		dry(publish.Unchanged, minix)
		dry(publish.Extended, minix, zos)
		to.lose(t, w.zipDigest(plan9))
		dry(publish.Repaired, plan9)
		dry(publish.Extended)
	})
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.runOver(ctx, to.open(t), publish.Options{}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if n := w.origin.Requests(); len(n) != 0 || to.state(t) != w.layout(t).state(t) && to.registry == nil {
			t.Errorf("unexpected requests: %v", n)
		}
	})
}

// TestCanceledDuringDownload cancels a run while the origin does not respond.
func TestCanceledDuringDownload(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o := onlyPlan9(t, w)
		w.origin.Misbehave(origintest.Zip, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
			origintest.Short(1<<20)(flushed{rw}, r, honest)
			cancel()
			<-r.Context().Done()
		}, -1)
		if _, err := w.runOver(ctx, to.open(t), o); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if to.digest(t) != "" || to.has(t, w.zipDigest(plan9)) || w.origin.Requests()[origintest.Zip] != 1 {
			t.Error("the run continued")
		}
	})
}

// flushed flushes the response after every write.
type flushed struct{ http.ResponseWriter }

func (f flushed) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	f.ResponseWriter.(http.Flusher).Flush()
	return n, err
}

// sourceURLs returns the source annotations of the index and the manifests.
func (w *world) sourceURLs(t *testing.T, to *target) []string {
	t.Helper()
	_, data, err := to.open(t).Manifest(t.Context(), "1.2.3")
	var index ocispec.Index
	if err := errors.Join(err, json.Unmarshal(data, &index)); err != nil {
		t.Fatal(err)
	}
	urls := []string{index.Annotations[ocispec.AnnotationSource]}
	for _, d := range index.Manifests {
		_, data, err := to.open(t).Manifest(t.Context(), d.Digest.String())
		var m ocispec.Manifest
		if err := errors.Join(err, json.Unmarshal(data, &m)); err != nil {
			t.Fatal(err)
		}
		urls = append(urls, m.Annotations[ocispec.AnnotationSource])
	}
	return urls
}

func TestSourceURL(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		const url = "https://example.org/acme/mirror"
		w.publish(t, to, publish.Created, publish.Options{Index: artifact.Options{SourceURL: url}, Platforms: []provider.Platform{plan9}})
		if got := w.sourceURLs(t, to); !slices.Equal(got, []string{url, url}) {
			t.Error(got)
		}
		w.publish(t, to, publish.Extended, publish.Options{Platforms: []provider.Platform{zos}})
		if got := w.sourceURLs(t, to); !slices.Equal(got, []string{url, url, url}) {
			t.Errorf("a later run without it: %q", got)
		}
	})
}

func TestProgress(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		var mu sync.Mutex
		begun, moved, ended := map[provider.Platform]int64{}, map[provider.Platform]int{}, map[provider.Platform]int{}
		w.progress = provider.Progress{
			Begin:   func(p provider.Package, total int64) { mu.Lock(); defer mu.Unlock(); begun[p.Platform] = total },
			Advance: func(p provider.Package, n int) { mu.Lock(); defer mu.Unlock(); moved[p.Platform] += n },
			End: func(p provider.Package, err error) {
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				ended[p.Platform]++
			},
		}
		w.publish(t, to, publish.Created, publish.Options{})
		mu.Lock()
		defer mu.Unlock()
		for _, p := range all {
			if size := len(w.zips[p]); begun[p] != int64(size) || moved[p] != size || ended[p] != 1 {
				t.Errorf("%s: %d bytes begun, %d moved, %d ends", p, begun[p], moved[p], ended[p])
			}
		}
	})
}

// TestConcurrency checks the number of concurrent downloads.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2} {
		w := newWorld(t, origintest.Options{})
		fault, most := origintest.Together(limit)
		w.origin.Misbehave(origintest.Zip, fault, -1)
		w.concurrency = limit
		w.publish(t, w.layout(t), publish.Created, publish.Options{})
		if most() != limit {
			t.Errorf("%d at once, not %d", most(), limit)
		}
	}
}

func TestSourceErrors(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		unknown := provider.Platform{OS: "nosuchos", Arch: "vax"}
		_, err := w.run(t, to, publish.Options{Platforms: []provider.Platform{plan9, unknown}})
		if missing, ok := errors.AsType[*provider.PlatformError](err); !ok || missing.Wanted != unknown {
			t.Error(err)
		}
		w.version, _ = provider.ParseVersion("9.9.9")
		if _, err := w.run(t, to, publish.Options{}); !errors.Is(err, provider.ErrVersionNotFound) {
			t.Error(err)
		}
		w.address.Type = "other"
		if _, err := w.run(t, to, publish.Options{}); !errors.Is(err, provider.ErrProviderNotFound) {
			t.Error(err)
		}
		if to.digest(t) != "" {
			t.Error("tagged")
		}
	})
}
