package publish_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// deny stages the release and denies it.
func (w *world) deny(t *testing.T, to *target) {
	t.Helper()
	w.stage(t, to, publish.Created, pendingTag, publish.Options{})
	w.denyAsIs(t, to)
}

// denyAsIs denies the version, which can be pending or released.
func (w *world) denyAsIs(t *testing.T, to *target) {
	t.Helper()
	o := approval.DenyOptions{Reason: "it phones home"}
	if _, err := approval.Deny(t.Context(), to.open(t), w.address, w.version, o); err != nil {
		t.Fatal(err)
	}
}

// TestDenied checks that a denied version can't be published from its origin or from a
// different repository.
func TestDenied(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		from := w.layout(t)
		w.publish(t, from, publish.Created, publish.Options{})
		w.deny(t, to)
		state, before := to.state(t), w.origin.Requests()
		for _, o := range []publish.Options{{}, {Stage: true}, {DryRun: true}, {Check: repository.DepthTags}, {Check: repository.DepthIndex}} {
			_, err := w.run(t, to, o)
			wantDenied(t, err)
			_, err = w.copy(t, from, to, o)
			wantDenied(t, err)
		}
		if to.state(t) != state || to.digest(t) != "" {
			t.Error("unexpected writes")
		}
		if requests := w.requestsSince(before); len(requests) != 0 {
			t.Errorf("unexpected requests to the origin: %v", requests)
		}
		w.wantCopy(t, from, to, publish.Created, publish.Options{Force: true})
	})
}

// TestDeniedDuringGate checks that a version that is denied while a gate runs doesn't keep
// its tag, although the denial has already deleted the pending tag.
func TestDeniedDuringGate(t *testing.T) {
	t.Parallel()
	for name, flow := range map[string]func(*world, *target, publish.Gates) error{
		"mirror": func(w *world, to *target, g publish.Gates) error {
			_, err := w.run(t, to, publish.Options{Gates: g})
			return err
		},
		"promote": func(w *world, to *target, g publish.Gates) error {
			_, err := approval.Promote(t.Context(), to.open(t), w.address, w.version, approval.PromoteOptions{Gates: g})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
				w.stage(t, to, publish.Created, pendingTag, publish.Options{})
				wantDenied(t, flow(w, to, testGate(func() error {
					w.denyAsIs(t, to)
					return nil
				})))
				if to.digest(t) != "" {
					t.Error("the denied version has its tag")
				}
			})
		})
	}
}

// testGate is a gate that runs for every release. If it returns nil, it allows the release.
type testGate func() error

func (testGate) Decides(publish.Candidate) bool { return true }

func (g testGate) Enforce(context.Context, repository.Repository, publish.Candidate) (*publish.HeldError, error) {
	return nil, g()
}

// TestForceAsksGates checks that Force lifts the denial of a version that still has its tag
// only if the gates allow the version and its signature is valid.
func TestForceAsksGates(t *testing.T) {
	t.Parallel()
	errRefused := errors.New("refused")
	refuses := testGate(func() error { return errRefused })
	verify := func(context.Context, provider.Release) (provider.Verdict, error) {
		return provider.Verdict{}, errRefused
	}
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		from := w.layout(t)
		w.publish(t, from, publish.Created, publish.Options{})
		w.publish(t, to, publish.Created, publish.Options{})
		index := to.at(t, "1.2.3")
		w.denyAsIs(t, to)
		to.tag(t, "1.2.3", index) // as after a denial without permission to delete tags
		promote := func(o approval.PromoteOptions) error {
			o.Force = true
			_, err := approval.Promote(t.Context(), to.open(t), w.address, w.version, o)
			return err
		}
		_, mirrored := w.run(t, to, publish.Options{Force: true, Gates: refuses})
		_, copied := w.copy(t, from, to, publish.Options{Force: true, Gates: refuses})
		for name, err := range map[string]error{
			"mirror": mirrored, "copy": copied, "promote": promote(approval.PromoteOptions{Gates: refuses}), "promote, signature": promote(approval.PromoteOptions{Verify: verify}),
		} {
			if !errors.Is(err, errRefused) || to.at(t, "denied-1.2.3") == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := promote(approval.PromoteOptions{Gates: testGate(func() error { return nil })}); err != nil || to.at(t, "denied-1.2.3") != "" {
			t.Errorf("got %v", err)
		}
	})
}

// TestDeniedReleased checks that a denied version that still has its tag is rejected, even
// if the content differs.
func TestDeniedReleased(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		other := w.layout(t)
		w.publish(t, to, publish.Created, publish.Options{})
		index := to.at(t, "1.2.3")
		w.denyAsIs(t, to)
		if to.digest(t) != "" {
			t.Error("the version still has its tag")
		}
		to.tag(t, "1.2.3", index)
		w.zips[plan9] = zipOf(t, "republished")
		w.offer(t, w.release(all...))
		for _, o := range []publish.Options{{}, {AgainstOrigin: true}, {Stage: true}, {Check: repository.DepthTags}} {
			_, err := w.run(t, to, o)
			wantDenied(t, err)
			_, err = w.copy(t, to, other, o)
			wantDenied(t, err)
		}
		_, err := w.copy(t, to, other, publish.Options{Force: true})
		wantDenied(t, err) // the source denies the version
	})
}

// TestDeniedForced checks that Force publishes a denied version, and removes the denial
// after the version has been tagged.
func TestDeniedForced(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.deny(t, to)
		w.publish(t, to, publish.Created, publish.Options{Force: true})
		if to.at(t, "denied-1.2.3") != "" {
			t.Error("the denial still exists")
		}
		w.publish(t, to, publish.Unchanged, publish.Options{})
	})
}

// TestDeniedForcedUndeletable checks the error if the tag of the denial can't be deleted. The
// version is then still denied.
func TestDeniedForcedUndeletable(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, origintest.Options{})
	from, to := w.layout(t), w.registry(t, registrytest.Options{NoDelete: http.StatusMethodNotAllowed})
	w.publish(t, from, publish.Created, publish.Options{})
	w.deny(t, to)
	if _, err := w.run(t, to, publish.Options{Force: true}); !errors.Is(err, repository.ErrTagNotDeleted) || to.digest(t) == "" {
		t.Errorf("got %v", err)
	}
	if _, err := w.copy(t, from, to, publish.Options{Force: true}); !errors.Is(err, repository.ErrTagNotDeleted) {
		t.Errorf("got %v", err)
	}
	_, err := w.run(t, to, publish.Options{})
	wantDenied(t, err)
}

// TestDeniedDuring checks that a denial during the upload prevents the tag, even with
// Force.
func TestDeniedDuring(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, origintest.Options{})
	from := w.layout(t)
	w.publish(t, from, publish.Created, publish.Options{})
	for name, bring := range map[string]func(to *target, o publish.Options) (publish.Result, error){
		"release": func(to *target, o publish.Options) (publish.Result, error) { return w.run(t, to, o) },
		"copy":    func(to *target, o publish.Options) (publish.Result, error) { return w.copy(t, from, to, o) },
	} {
		for _, o := range []publish.Options{{}, {Force: true}} {
			to := w.registry(t, registrytest.Options{})
			to.registry.Misbehave(registrytest.UploadPut, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
				honest(rw, r)
				w.deny(t, to)
			}, 1)
			_, err := bring(to, o)
			if wantDenied(t, err); to.digest(t) != "" {
				t.Errorf("%s: the version has its tag", name)
			}
		}
	}
}

// TestDeniedRequests checks that the tags are listed only once.
func TestDeniedRequests(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, origintest.Options{})
	from, to := w.layout(t), w.registry(t, registrytest.Options{})
	w.publish(t, from, publish.Created, publish.Options{})
	for _, bring := range []func(o publish.Options) (publish.Result, error){
		func(o publish.Options) (publish.Result, error) { return w.run(t, to, o) },
		func(o publish.Options) (publish.Result, error) { return w.copy(t, from, to, o) },
	} {
		for range 2 {
			lists := to.lists()
			if _, err := bring(publish.Options{}); err != nil {
				t.Fatal(err)
			}
			if n := to.lists() - lists; n != 1 {
				t.Errorf("tags were listed %d times", n)
			}
		}
		to.registry.Delete(t, repositoryName, "1.2.3")
	}
}

// TestDeniedUnlisted checks that a denial is found even if the registry denies listing
// tags. The list of tags is requested only once.
func TestDeniedUnlisted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	from, to := w.layout(t), w.registry(t, registrytest.Options{})
	w.publish(t, from, publish.Created, publish.Options{})
	w.deny(t, to)
	to.registry.Misbehave(registrytest.Tags, origintest.Status(http.StatusForbidden), -1)
	before := to.lists()
	w.shared = new(publish.Publisher)
	for range 2 {
		_, err := w.run(t, to, publish.Options{})
		wantDenied(t, err)
		_, err = w.copy(t, from, to, publish.Options{})
		wantDenied(t, err)
	}
	if n := to.lists() - before; n != 1 {
		t.Errorf("tags were listed %d times", n)
	}
}

// TestDeniedByTag checks that the tag of a denial denies the version regardless of its content.
func TestDeniedByTag(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, w *world, to *target){
		"another index": func(t *testing.T, w *world, to *target) {
			w.publish(t, to, publish.Created, publish.Options{})
			index := to.at(t, "1.2.3")
			if err := to.open(t).Capabilities().DeleteTag(t.Context(), "1.2.3", index); err != nil {
				t.Fatal(err)
			}
			to.tag(t, "denied-1.2.3", index)
		},
		"nothing": func(t *testing.T, w *world, to *target) {
			w.deny(t, to)
			if to.registry == nil {
				to.lose(t, to.at(t, "denied-1.2.3"))
				return
			}
			to.registry.Misbehave(registrytest.ManifestGet, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
				if strings.HasSuffix(r.URL.Path, "/denied-1.2.3") {
					honest = http.NotFound
				}
				honest(rw, r)
			}, -1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
				from := w.layout(t)
				w.publish(t, from, publish.Created, publish.Options{})
				spoil(t, w, to)
				for _, o := range []publish.Options{{}, {Stage: true}, {Check: repository.DepthTags}} {
					_, err := w.run(t, to, o)
					wantReason(t, err, "reason unavailable")
					_, err = w.copy(t, from, to, o)
					wantReason(t, err, "reason unavailable")
				}
			})
		})
	}
}

// tag points a tag to an index of the repository.
func (to *target) tag(t *testing.T, tag string, index digest.Digest) {
	t.Helper()
	repo := to.open(t)
	d, data, err := repo.Manifest(t.Context(), index.String())
	if err == nil {
		err = repo.PushTag(t.Context(), artifact.Blob{Descriptor: d, Bytes: data}, tag, "")
	}
	if err != nil {
		t.Fatal(err)
	}
}

func wantDenied(t *testing.T, err error) {
	t.Helper()
	wantReason(t, err, "it phones home")
}

func wantReason(t *testing.T, err error, reason string) {
	t.Helper()
	if denied, ok := errors.AsType[*repository.DeniedError](err); !ok || denied.Record.Reason != reason {
		t.Errorf("got %v", err)
	}
}

// TestDeniedTooLong checks that a version can be published even if it is too long for
// the tag of a denial.
func TestDeniedTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	r := w.release(all...)
	r.Version = "1.2.3-" + strings.Repeat("a", 122)
	w.offer(t, r)
	var err error
	if w.version, err = provider.ParseVersion(r.Version); err != nil {
		t.Fatal(err)
	}
	if _, err := w.run(t, w.registry(t, registrytest.Options{}), publish.Options{}); err != nil {
		t.Error(err)
	}
}
