package publish_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

func login(username, password string) func(context.Context, string) (repository.Credential, error) {
	return func(context.Context, string) (repository.Credential, error) {
		return repository.Credential{Username: username, Password: password}, nil
	}
}

func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in: %v", part, err)
		}
	}
}

// TestTagMoved checks a tag that another run writes after this run has read it.
func TestTagMoved(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		var once sync.Once
		repo := &watched{Repository: to.open(t), before: func(op string, _ digest.Digest) error {
			if op == "tag" {
				once.Do(func() { w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{zos}}) })
			}
			return nil
		}}
		result, err := w.runOver(t.Context(), repo, publish.Options{Platforms: without(zos)})
		if err != nil || result.Moved != 1 || result.Status != publish.Extended || result.Digest != golden {
			t.Errorf("%+v, %v", result, err)
		}
		wantSent(t, result, without(zos)...)
		w.wantStored(t, to, all...)
		if n := w.origin.Requests()[origintest.Zip]; n != 4 {
			t.Errorf("%d zips were fetched", n)
		}
	})
}

// TestContentDeleted checks that a run sends content again if another run deletes the
// content together with a version.
func TestContentDeleted(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"found": false, "sent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			to := w.layout(t)
			v := nouns.Version(t, "1.2.3")
			stored := w.publish(t, to, publish.Created, publish.Options{})
			if _, err := repository.Prune(t.Context(), to.open(t), v, ""); err != nil {
				t.Fatal(err)
			}
			for _, p := range stored.Packages {
				if path, _ := to.open(t).Capabilities().BlobPath(p.Package.Digest); lost {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
				}
			}
			var once sync.Once
			repo := &watched{Repository: to.open(t), before: func(op string, _ digest.Digest) (err error) {
				if op == "tag" {
					once.Do(func() { err = repository.DeletePruned(t.Context(), to.open(t), v, "") })
				}
				return err
			}}
			result, err := w.runOver(t.Context(), repo, publish.Options{})
			if err != nil || result.Moved != 1 || result.Status != publish.Created {
				t.Errorf("%+v, %v", result, err)
			}
			w.wantStored(t, to, all...)
		})
	}
}

// TestTagAfterUnavailable checks that the tag is read again after a 503 response,
// because another run might have moved it in the meantime.
func TestTagAfterUnavailable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.registry(t, registrytest.Options{})
	w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{plan9}})
	var met atomic.Bool
	to.registry.Misbehave(registrytest.ManifestPut, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		if !strings.HasSuffix(r.URL.Path, "/1.2.3") || met.Swap(true) {
			honest(rw, r)
			return
		}
		w.publish(t, to, publish.Extended, publish.Options{Platforms: []provider.Platform{haiku}})
		rw.WriteHeader(http.StatusServiceUnavailable)
	}, -1)
	result := w.publish(t, to, publish.Extended, publish.Options{Platforms: []provider.Platform{zos}})
	if result.Moved != 1 {
		t.Errorf("moved %d times", result.Moved)
	}
	w.wantStored(t, to, haiku, plan9, zos)
}

// TestTagOverwritten checks that a run recovers if another run overwrites the tag with
// an older index. Registries allow this.
func TestTagOverwritten(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{zos}})
		_, theirs, err := to.open(t).Manifest(t.Context(), "1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		var once sync.Once
		repo := &watched{Repository: to.open(t), after: func() {
			once.Do(func() {
				b := artifact.Blob{Bytes: theirs}
				b.Descriptor.MediaType = "application/vnd.oci.image.index.v1+json"
				b.Descriptor.Digest, b.Descriptor.Size = digest.FromBytes(theirs), int64(len(theirs))
				if err := to.open(t).PushTag(t.Context(), b, "1.2.3", to.digest(t)); err != nil {
					t.Error(err)
				}
			})
		}}
		result, err := w.runOver(t.Context(), repo, publish.Options{Platforms: []provider.Platform{haiku}})
		if err != nil || result.Moved != 1 {
			t.Errorf("%+v, %v", result, err)
		}
		w.wantStored(t, to, haiku, zos)
	})
}

// TestTagExtendedAfterwards checks that a run succeeds if another run extends the index
// immediately after the tag is written.
func TestTagExtendedAfterwards(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		var once sync.Once
		repo := &watched{Repository: to.open(t), after: func() {
			once.Do(func() { w.publish(t, to, publish.Extended, publish.Options{}) })
		}}
		result, err := w.runOver(t.Context(), repo, publish.Options{Platforms: without(zos)})
		if err != nil || result.Moved != 0 || result.Status != publish.Created {
			t.Errorf("%+v, %v", result, err)
		}
		if to.digest(t) != golden {
			t.Error("the changes of the other run are lost")
		}
	})
}

// TestTagKeepsMoving checks that retries are limited.
func TestTagKeepsMoving(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		moves := 0
		repo := &watched{Repository: to.open(t), before: func(op string, _ digest.Digest) error {
			if op == "tag" {
				moves++
				return fmt.Errorf("tagging: %w", repository.ErrTagMoved)
			}
			return nil
		}}
		_, err := w.runOver(t.Context(), repo, publish.Options{})
		if !errors.Is(err, repository.ErrTagMoved) || moves < 2 || moves > 100 {
			t.Errorf("%d moves, %v", moves, err)
		}
		if n := w.origin.Requests(); n[origintest.Zip] != 4 || n[origintest.Sums] != 1 {
			t.Errorf("each round requested the release again: %v", n)
		}
	})
}

// TestTagLost checks the error if a repository accepts a tag but does not return it.
func TestTagLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.layout(t)
	repo := &watched{Repository: forgetful{to.open(t)}}
	_, err := w.runOver(t.Context(), repo, publish.Options{})
	wantText(t, err, "reading the tag back")
}

type forgetful struct{ repository.Repository }

func (forgetful) PushTag(context.Context, artifact.Blob, string, digest.Digest) error { return nil }

// TestBuildMatrix publishes one platform in each of several concurrent runs.
func TestBuildMatrix(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	var platforms []provider.Platform
	for i := range 6 {
		p := provider.Platform{OS: "plan9", Arch: fmt.Sprintf("arch%d", i)}
		platforms = append(platforms, p)
		w.zips[p] = zipOf(t, p.String())
	}
	w.offer(t, w.release(platforms...))
	to := w.layout(t)
	var group sync.WaitGroup
	for _, p := range platforms {
		group.Go(func() {
			if _, err := w.run(t, to, publish.Options{Platforms: []provider.Platform{p}}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	w.wantStored(t, to, platforms...)
	direct := w.layout(t)
	if w.publish(t, direct, publish.Created, publish.Options{}).Digest != to.digest(t) {
		t.Error("the index is not that of a direct run")
	}
}

// TestOrder checks that content is written before the documents that refer to it.
func TestOrder(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		repo := &watched{Repository: to.open(t)}
		if _, err := w.runOver(t.Context(), repo, publish.Options{}); err != nil {
			t.Fatal(err)
		}
		order := slices.Compact(slices.Clone(repo.writes))
		if !slices.Equal(order, []string{"blob", "manifest", "tag"}) || len(repo.writes) != 8+4+1 {
			t.Errorf("written: %v", repo.writes)
		}
	})
}

// TestFailureOfEachWrite fails each write in turn. It checks that every tag points to a
// complete graph, and that the next run completes the release.
func TestFailureOfEachWrite(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		for k := range 8 + 4 + 1 {
			fresh := w.layout(t)
			if to.registry != nil {
				fresh = w.registry(t, registrytestOptions)
			}
			var mu sync.Mutex
			write := 0
			broken := errors.New("no power")
			repo := &watched{Repository: fresh.open(t), before: func(string, digest.Digest) error {
				mu.Lock()
				defer mu.Unlock()
				if write++; write > k {
					return broken
				}
				return nil
			}}
			if _, err := w.runOver(t.Context(), repo, publish.Options{}); !errors.Is(err, broken) {
				t.Fatalf("write %d: %v", k, err)
			}
			if fresh.digest(t) != "" {
				t.Errorf("write %d: tagged", k)
			}
			zips := 0
			for _, p := range all {
				if fresh.has(t, w.zipDigest(p)) {
					zips++
				}
			}
			result := w.publish(t, fresh, publish.Created, publish.Options{})
			// An interrupted upload might still arrive after the zips were counted. Small
			// zips are sent to a registry again.
			if result.Digest != golden || len(sent(result)) > len(all)-zips && to.registry == nil {
				t.Errorf("write %d: %d zips were there, %d sent, index %s", k, zips, len(sent(result)), result.Digest)
			}
			w.wantStored(t, fresh, all...)
		}
	})
}

// TestSlow checks that Slow is set if a write takes longer than Release waits for other
// jobs.
func TestSlow(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		slow := func(platforms ...provider.Platform) bool {
			t.Helper()
			to.options.ConfirmDelay = time.Nanosecond
			o := publish.Options{Platforms: platforms}
			result, err := w.publisher().Release(t.Context(), w.source(), to.open(t), w.address, w.version, o)
			if err != nil {
				t.Fatal(err)
			}
			return result.Slow
		}
		if got, want := slow(haiku), to.registry != nil; got != want {
			t.Errorf("a part of the release: got %t, want %t", got, want)
		}
		if slow() {
			t.Error("a complete release of an origin is reported as slow")
		}
	})
}
