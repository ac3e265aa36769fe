package publish_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// deny stages the release and denies it.
func (w *world) deny(t *testing.T, to *target) {
	t.Helper()
	w.stage(t, to, publish.Created, pendingTag, publish.Options{})
	o := approval.DenyOptions{Reason: "it phones home", Settle: time.Millisecond}
	if _, err := approval.Deny(t.Context(), to.open(t), w.address, w.version, o); err != nil {
		t.Fatal(err)
	}
}

// TestDenied: what was denied gets no version without approval, neither from its
// origin nor from another repository.
func TestDenied(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		from := w.layout(t)
		w.publish(t, from, publish.Created, publish.Options{})
		w.deny(t, to)
		state, before := to.state(t), w.origin.Requests()
		for _, o := range []publish.Options{{}, {DryRun: true}, {Check: publish.CheckTags}, {Check: publish.CheckIndex}} {
			_, err := w.run(t, to, o)
			wantDenied(t, err)
			_, err = w.copy(t, from, to, o)
			wantDenied(t, err)
		}
		if to.state(t) != state || to.digest(t) != "" {
			t.Error("something was written")
		}
		if asked := w.asked(before); len(asked) != 0 {
			t.Errorf("the origin was asked for %v", asked)
		}
		w.wantCopy(t, from, to, publish.Created, publish.Options{Force: true})
	})
}

// TestDeniedForced is how it gets there all the same.
func TestDeniedForced(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.deny(t, to)
		w.publish(t, to, publish.Created, publish.Options{Force: true})
		w.publish(t, to, publish.Unchanged, publish.Options{}) // it is there now
	})
}

// TestDeniedRequests: the list of tags is asked for once, and not at all where the
// version's tag is there.
func TestDeniedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	from, to := w.layout(t), w.registry(t, registrytest.Options{})
	w.publish(t, from, publish.Created, publish.Options{})
	for _, bring := range []func(o publish.Options) (publish.Result, error){
		func(o publish.Options) (publish.Result, error) { return w.run(t, to, o) },
		func(o publish.Options) (publish.Result, error) { return w.copy(t, from, to, o) },
	} {
		for _, want := range []int{1, 0} {
			lists := to.lists()
			if _, err := bring(publish.Options{}); err != nil {
				t.Fatal(err)
			}
			if n := to.lists() - lists; n != want {
				t.Errorf("tags were listed %d times, not %d", n, want)
			}
		}
		to.registry.Delete(t, repositoryName, "1.2.3")
	}
}

// TestDeniedUnlisted: a login that may not list tags does not overrule a denial, and is
// told so once.
func TestDeniedUnlisted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	from, to := w.layout(t), w.registry(t, registrytest.Options{})
	w.publish(t, from, publish.Created, publish.Options{})
	w.deny(t, to)
	to.registry.Misbehave(registrytest.Tags, origintest.Status(http.StatusForbidden), -1)
	before, seen := to.lists(), &publish.Seen{}
	for range 2 {
		_, err := w.run(t, to, publish.Options{Seen: seen})
		wantDenied(t, err)
		_, err = w.copy(t, from, to, publish.Options{Seen: seen})
		wantDenied(t, err)
	}
	if n := to.lists() - before; n != 1 {
		t.Errorf("tags were listed %d times", n)
	}
}

// TestDeniedByName: a tag that is called like a denial, and is none, denies nothing.
func TestDeniedByName(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publish(t, to, publish.Created, publish.Options{})
		repo := to.open(t)
		i, err := repository.Inspect(t.Context(), repo, "1.2.3", repository.DepthIndex)
		if err == nil {
			err = repo.PushTag(t.Context(), artifact.Blob{Descriptor: i.Descriptor, Bytes: i.Bytes}, "denied-1.2.3", "")
		}
		if err == nil {
			err = repo.Traits().Untag(t.Context(), "1.2.3", i.Digest)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.publish(t, to, publish.Created, publish.Options{})
	})
}

func wantDenied(t *testing.T, err error) {
	t.Helper()
	if denied, ok := errors.AsType[*approval.DeniedError](err); !ok || denied.Record.Reason != "it phones home" {
		t.Errorf("got %v", err)
	}
}
