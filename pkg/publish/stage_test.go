package publish_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

const pendingTag = "pending-1.2.3"

// stage stages the release and checks the status and the tag.
func (w *world) stage(t *testing.T, to *target, want publish.Status, tag string, o publish.Options) publish.Result {
	t.Helper()
	o.Stage = true
	result, err := w.run(t, to, o)
	if err != nil {
		t.Fatal(err)
	}
	if result.Status != want || result.Tag != tag || result.Digest != to.at(t, tag) || result.Released != (tag == "1.2.3") {
		t.Fatalf("%s under %s at %s (released: %t), not %s under %s at %s", result.Status, result.Tag, result.Digest, result.Released, want, tag, to.at(t, tag))
	}
	return result
}

// at returns the digest that a tag points to, or "" if the tag does not exist.
func (to *target) at(t *testing.T, tag string) digest.Digest {
	t.Helper()
	i, err := repository.Inspect(t.Context(), to.open(t), tag, repository.DepthIndex)
	if err != nil {
		t.Fatal(err)
	}
	return i.Digest
}

func (w *world) promote(t *testing.T, to *target, want publish.Status) {
	t.Helper()
	r, err := approval.Promote(t.Context(), to.open(t), w.address, w.version, approval.PromoteOptions{})
	if err != nil || r.Status != want || to.at(t, pendingTag) != "" {
		t.Fatalf("promoting: %+v, %v", r, err)
	}
}

// TestStage checks that a staged release has the same bytes as a published release.
func TestStage(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		if r, err := w.run(t, to, publish.Options{Stage: true, DryRun: true}); err != nil || r.Status != publish.Created || r.Tag != pendingTag || to.at(t, pendingTag) != "" {
			t.Errorf("a dry run: %+v, %v", r, err)
		}
		if r := w.stage(t, to, publish.Created, pendingTag, publish.Options{}); r.Digest != golden {
			t.Errorf("got index %s", r.Digest)
		}
		if to.digest(t) != "" {
			t.Error("the version already exists")
		}
		state := to.state(t)
		for _, check := range []repository.Depth{0, repository.DepthContent} {
			w.stage(t, to, publish.Unchanged, pendingTag, publish.Options{Check: check})
		}
		if to.state(t) != state {
			t.Error("unexpected writes")
		}
		w.promote(t, to, publish.Promoted)
		state = to.state(t)
		w.wantStored(t, to, all...)
		w.stage(t, to, publish.Unchanged, "1.2.3", publish.Options{})
		w.stage(t, to, publish.Unchanged, "1.2.3", publish.Options{Platforms: []provider.Platform{zos}})
		w.publish(t, to, publish.Unchanged, publish.Options{})
		if to.state(t) != state {
			t.Error("unexpected writes")
		}
	})
}

// TestStageReleasedVersion checks that a pending release includes the published
// platforms, so promoting it only moves the tag.
func TestStageReleasedVersion(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		first := w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{haiku}})
		r := w.stage(t, to, publish.Extended, pendingTag, publish.Options{Platforms: []provider.Platform{zos}})
		wantSent(t, r, zos)
		if to.digest(t) != first.Digest {
			t.Error("the version was moved")
		}
		wantSent(t, w.stage(t, to, publish.Extended, pendingTag, publish.Options{}), minix, plan9)
		w.promote(t, to, publish.Extended)
		w.wantStored(t, to, all...)
		if to.digest(t) != golden {
			t.Errorf("got index %s", to.digest(t))
		}
	})
}

// TestStageStale checks a pending release whose version is published with more
// platforms after staging.
func TestStageStale(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.zips[haiku] = bigZip(t)
		w.offer(t, w.release(all...))
		some := publish.Options{Platforms: []provider.Platform{haiku}}
		w.stage(t, to, publish.Created, pendingTag, some)
		// Without approval, the version is not published, unless Force overrides this.
		held, err := w.run(t, to, publish.Options{Platforms: []provider.Platform{minix}})
		if err != nil || held.Status != publish.Extended || held.Held == nil || held.Tag != pendingTag || to.digest(t) != "" {
			t.Errorf("got %+v, %v", held, err)
		}
		w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{zos}, Force: true})
		records, err := repository.Decisions(t.Context(), to.open(t), to.digest(t), artifact.DecisionForce)
		if err != nil || len(records) != 1 || records[0].Reason != "overrides the missing approval" {
			t.Errorf("the use of Force: %+v, %v", records, err)
		}
		_, err = approval.Promote(t.Context(), to.open(t), w.address, w.version, approval.PromoteOptions{})
		if _, conflict := errors.AsType[*repository.ConflictError](err); !conflict {
			t.Errorf("got %v", err)
		}
		wantSent(t, w.stage(t, to, publish.Extended, pendingTag, some))
		w.promote(t, to, publish.Extended)
		w.wantStored(t, to, haiku, zos)
	})
}

// TestStageConflict checks that staging does not replace published packages without
// Force.
func TestStageConflict(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		first := w.publish(t, to, publish.Created, publish.Options{})
		w.zips[plan9] = zipOf(t, "republished")
		w.offer(t, w.release(all...))
		_, err := w.run(t, to, publish.Options{Stage: true, AgainstOrigin: true})
		if _, conflict := errors.AsType[*repository.ConflictError](err); !conflict || to.at(t, pendingTag) != "" {
			t.Errorf("got %v", err)
		}
		w.stage(t, to, publish.Replaced, pendingTag, publish.Options{Force: true})
		if to.digest(t) != first.Digest {
			t.Error("the version was moved")
		}
	})
}

// TestStageRepaired checks that a pending release is repaired like a published release.
func TestStageRepaired(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.stage(t, to, publish.Created, pendingTag, publish.Options{})
		to.lose(t, w.zipDigest(minix))
		_, err := approval.Promote(t.Context(), to.open(t), w.address, w.version, approval.PromoteOptions{})
		if !errors.Is(err, approval.ErrIncomplete) {
			t.Errorf("promoting: %v", err)
		}
		w.stage(t, to, publish.Repaired, pendingTag, publish.Options{})
		w.promote(t, to, publish.Promoted)
		if to.digest(t) != golden {
			t.Errorf("got index %s", to.digest(t))
		}
	})
}

// TestStageDenied checks that a denied release is not sent again, even if the registry
// can't delete tags.
func TestStageDenied(t *testing.T) {
	t.Parallel()
	denied := func(t *testing.T, w *world, to *target) {
		t.Helper()
		w.stage(t, to, publish.Created, pendingTag, publish.Options{})
		o := approval.DenyOptions{Reason: "it phones home"}
		if _, err := approval.Deny(t.Context(), to.open(t), w.address, w.version, o); err != nil {
			t.Fatal(err)
		}
		state, before := to.state(t), w.origin.Requests()
		_, err := w.run(t, to, publish.Options{Stage: true})
		wantDenied(t, err)
		if n := w.requestsSince(before)[origintest.Zip]; n != 0 || to.state(t) != state {
			t.Errorf("%d zips were fetched, or unexpected requests wrote content", n)
		}
		if r := w.stage(t, to, publish.Created, pendingTag, publish.Options{Force: true}); r.Digest != golden {
			t.Errorf("got index %s", r.Digest)
		}
		_, err = w.run(t, to, publish.Options{Stage: true})
		wantDenied(t, err)
	}
	eachTarget(t, origintest.Options{}, denied)
	t.Run("tags stay", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, origintest.Options{})
		denied(t, w, w.registry(t, registrytest.Options{NoDelete: http.StatusMethodNotAllowed}))
	})
}

// TestStageConcurrent checks that all platforms are kept if concurrent jobs stage one
// platform each.
func TestStageConcurrent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.layout(t)
	var group sync.WaitGroup
	for _, platform := range all {
		group.Go(func() {
			if _, err := w.run(t, to, publish.Options{Stage: true, Platforms: []provider.Platform{platform}}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	i, err := repository.Inspect(t.Context(), to.open(t), pendingTag, repository.DepthIndex)
	if diff := cmp.Diff(all, i.Index.Platforms()); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}
