package repository_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestCopyIsResumed interrupts a copy before one of its writes. It checks that every
// existing tag points to a complete graph, and that the next run sends only the
// remaining content.
func TestCopyIsResumed(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	broken := errors.New("broken on purpose")
	eachTarget(t, func(t *testing.T, from, to *end) {
		index := from.fill(t)
		var all atomic.Int64
		counting := &watched{Repository: to.open(t), before: func(string) error { all.Add(1); return nil }}
		if _, err := copyOver(t.Context(), from.open(t), counting, repository.CopyOptions{}); err != nil {
			t.Fatal(err)
		}
		total := all.Load()
		for _, n := range []int64{0, 1, total / 4, total / 2, total * 3 / 4, total - 2, total - 1} {
			target := to.neighbor(t)
			if to.registry != nil {
				target.ref.Name = fmt.Sprintf("acme/target%d", n)
			}
			var writes, sent atomic.Int64
			repo := &watched{Repository: target.open(t), before: func(op string) error {
				if writes.Add(1) > n {
					return broken
				}
				if op == "blob" {
					sent.Add(1)
				}
				return nil
			}}
			done, err := copyOver(t.Context(), from.open(t), repo, repository.CopyOptions{})
			// The failure can cancel a blob's upload, so done.Blobs can be less than
			// sent.
			if !errors.Is(err, broken) || target.at(t, tag) != "" || done.Tagged || int64(done.Blobs) > sent.Load() {
				t.Fatalf("after %d of %d writes: %+v, %v", n, total, done, err)
			}
			wantWholeLists(t, target)
			rest := from.wantCopied(t, target, repository.CopyOptions{})
			// Small blobs are sent to a registry again.
			most := 10
			if to.registry == nil {
				most -= done.Blobs
			}
			if rest.Digest != index.Digest || rest.Blobs > most {
				t.Errorf("after %d writes, %d blobs were sent, and %d again", n, done.Blobs, rest.Blobs)
			}
		}
	})
}

// wantWholeLists checks that every existing tag points to a complete graph, including
// the referrers tags of a release without a tag.
func wantWholeLists(t *testing.T, e *end) {
	t.Helper()
	repo := e.open(t)
	tags, err := repo.Tags(t.Context())
	if errors.Is(err, repository.ErrNoRepository) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range tags {
		d, _, err := repo.Manifest(t.Context(), tag)
		if err != nil {
			t.Fatal(err)
		}
		e.walk(t, repo, d.Digest, map[digest.Digest]string{})
	}
}

// TestCopyRetries checks that Copy retries interrupted requests.
func TestCopyRetries(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, test := range map[string]struct {
		source bool
		kind   registrytest.Kind
		fault  origintest.Fault
	}{
		"source resets a blob":        {true, registrytest.BlobGet, origintest.Reset(5)},
		"source sends a blob short":   {true, registrytest.BlobGet, origintest.Short(5)},
		"source is busy":              {true, registrytest.BlobGet, origintest.Status(http.StatusServiceUnavailable)},
		"source resets a manifest":    {true, registrytest.ManifestGet, origintest.Reset(10)},
		"source resets the referrers": {true, registrytest.Referrers, origintest.Status(http.StatusTooManyRequests)},
		"target resets an upload":     {false, registrytest.UploadPut, origintest.Reset(0)},
		"target resets before one":    {false, registrytest.UploadPost, origintest.Reset(0)},
		"target is busy":              {false, registrytest.UploadPut, origintest.Status(http.StatusServiceUnavailable)},
		"target resets a manifest":    {false, registrytest.ManifestPut, origintest.Reset(0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := newEnd(t, &registrytest.Options{}), newEnd(t, &registrytest.Options{})
			from.fill(t)
			at := to
			if test.source {
				at = from
			}
			at.registry.Misbehave(test.kind, test.fault, 1)
			from.wantCopied(t, to, repository.CopyOptions{})
		})
	}
}

// TestCopyCanceled checks that a canceled Copy returns promptly with the cause and
// leaves no tag.
func TestCopyCanceled(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	cause := errors.New("the user left")
	eachTarget(t, func(t *testing.T, from, to *end) {
		from.fill(t)
		for _, op := range []string{"before", "blob", "manifest", "tag"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			if op == "before" {
				cancel(cause)
			}
			target := to.neighbor(t)
			if to.registry != nil {
				target.ref.Name = "acme/" + op
			}
			repo := &watched{Repository: target.open(t), before: func(did string) error {
				if did == op {
					cancel(cause)
				}
				return nil
			}}
			_, err := copyOver(ctx, from.open(t), repo, repository.CopyOptions{})
			if !errors.Is(err, cause) && !errors.Is(err, context.Canceled) || target.at(t, tag) != "" {
				t.Errorf("%s: %v", op, err)
			}
			from.wantCopied(t, target, repository.CopyOptions{})
			cancel(nil)
		}
	})
}

// TestCopyHangs checks that Copy returns when the context is canceled while the source
// does not respond.
func TestCopyHangs(t *testing.T) {
	t.Parallel()
	from, to := newEnd(t, &registrytest.Options{}), newEnd(t, nil)
	from.fill(t)
	ctx, cancel := context.WithCancel(t.Context())
	var once sync.Once
	from.registry.Misbehave(registrytest.BlobGet, func(_ http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		once.Do(cancel)
		<-r.Context().Done()
	}, -1)
	_, err := copyOver(ctx, from.open(t), to.open(t), repository.CopyOptions{})
	if !errors.Is(err, context.Canceled) || to.at(t, tag) != "" {
		t.Errorf("got %v", err)
	}
}

// TestCopyConcurrency checks that the number of zips that Copy transfers concurrently
// reaches the limit, but does not exceed it.
func TestCopyConcurrency(t *testing.T) {
	t.Parallel()
	zips := map[provider.Platform]string{}
	for i := range 8 {
		zips[provider.Platform{OS: "plan9", Arch: fmt.Sprintf("arch%d", i)}] = fmt.Sprintf("zip %d", i)
	}
	for concurrency, want := range map[int]int{0: 4, -1: 4, 1: 1, 3: 3} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			t.Parallel()
			from, to := newEnd(t, nil), newEnd(t, nil)
			from.push(t, zips)
			var mu sync.Mutex
			now, most, full := 0, 0, make(chan struct{})
			from.wantCopied(t, to, repository.CopyOptions{Concurrency: concurrency, Progress: provider.Progress{
				Begin: func(provider.Package, int64) {
					mu.Lock()
					now++
					if most = max(most, now); now == want {
						select {
						case <-full:
						default:
							close(full)
						}
					}
					mu.Unlock()
					<-full // wait until all permitted transfers have started
				},
				End: func(provider.Package, error) { mu.Lock(); defer mu.Unlock(); now-- },
			}})
			if most != want {
				t.Errorf("%d at once, not %d", most, want)
			}
		})
	}
}

// TestCopyStreams checks that Copy does not hold a zip in memory. It is not parallel
// because it measures the allocations of the process.
func TestCopyStreams(t *testing.T) { //nolint:paralleltest // see above
	patience.SkipIfShort(t)
	// A large blob from a registry is buffered in windows of at most 32 MiB.
	const size, bound = 64 << 20, 16<<20 + 32<<20
	zip := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	zips := map[provider.Platform]string{haiku: string(zip)}
	d := digest.FromBytes(zip)
	layout, from, to := newEnd(t, nil), newEnd(t, &registrytest.Options{}), newEnd(t, &registrytest.Options{})
	from.registry.AddBlob(from.ref.Name, d.String(), zip)
	from.pushRelease(t, zips)
	// The test server buffers uploads. Because the test already has the bytes, this
	// handler only verifies them.
	to.registry.Misbehave(registrytest.UploadPut, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		if r.URL.Query().Get("digest") != d.String() {
			honest(w, r)
			return
		}
		verifier := d.Verifier()
		if n, err := io.Copy(verifier, r.Body); n != size || err != nil || !verifier.Verified() {
			t.Errorf("%d bytes came, %v", n, err)
		}
		to.registry.AddBlob(to.ref.Name, d.String(), zip)
		w.WriteHeader(http.StatusCreated)
	}, -1)
	for name, ends := range map[string][2]*end{"out of a registry": {from, layout}, "registry to registry": {from, to}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		done, err := ends[0].copyTo(t, ends[1], repository.CopyOptions{})
		runtime.ReadMemStats(&after)
		if err != nil || done.Bytes < size {
			t.Fatalf("%+v, %v", done, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > bound {
			t.Errorf("%s: %d bytes were allocated for a zip of %d", name, used, size)
		}
	}
}
