package approval_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// promote promotes the release, and fails the test on errors.
func (w *world) promote(t *testing.T, o approval.PromoteOptions) approval.Result {
	t.Helper()
	r, err := approval.Promote(t.Context(), w.repo, w.address, w.version, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPromote checks that only the tag moves and that the digest stays the same.
func TestPromote(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		index := w.put(t, waiting, both)
		verified := 0
		o := approval.PromoteOptions{Verify: func(_ context.Context, r provider.Release) (provider.Verdict, error) {
			verified++
			if r.Address != w.address || r.Version != w.version || len(r.Packages) != 2 {
				t.Errorf("unexpected release %+v", r)
			}
			return provider.Verdict{Trust: provider.TrustSigned}, nil
		}}
		o.DryRun = true
		if r := w.promote(t, o); r.Status != publish.Promoted || w.at(t, version) != "" || w.at(t, waiting) != index {
			t.Errorf("a dry run: %+v", r)
		}
		o.DryRun = false
		var before map[registrytest.Kind]int
		if w.registry != nil {
			before = w.registry.Requests()
		}
		r := w.promote(t, o)
		if r.Status != publish.Promoted || r.Tag != version || r.Digest != index || r.Verdict.Trust != provider.TrustSigned || len(r.Packages) != 2 || r.PendingTagError != nil {
			t.Errorf("got %+v", r)
		}
		if w.registry != nil {
			now := w.registry.Requests()
			for kind, want := range map[registrytest.Kind]int{registrytest.UploadPost: 0, registrytest.Mount: 0, registrytest.ManifestPut: 1, registrytest.ManifestDelete: 1} {
				if got := now[kind] - before[kind]; got != want {
					t.Errorf("%d requests of %s, not %d", got, kind, want)
				}
			}
		}
		if w.at(t, version) != index || w.at(t, waiting) != "" {
			t.Error("wrong tags after the promotion")
		}
		// Promoting the release again has no effect and verifies no signature.
		if r := w.promote(t, o); r.Status != publish.Unchanged || r.Digest != index || len(r.Packages) != 2 || verified != 2 {
			t.Errorf("again: got %+v after %d calls of Verify", r, verified)
		}
	})
}

// TestPromoteRecord checks that the approval is attached to the index before the tag is written.
func TestPromoteRecord(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		index := w.put(t, waiting, both)
		o := approval.PromoteOptions{Reason: "tested", By: "jane", DryRun: true}
		began := time.Now().Truncate(time.Millisecond)
		recorded := func() int {
			records, err := repository.Decisions(t.Context(), w.repo, index)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				if r.Kind != artifact.DecisionPromote || r.Reason != "tested" || r.By != "jane" || r.Decision.Index != index || r.Time.Before(began) || r.Time.After(time.Now()) || r.Signature != nil {
					t.Errorf("got %+v", r)
				}
			}
			return len(records)
		}
		if r := w.promote(t, o); recorded() != 0 || r.Approval == nil {
			t.Errorf("a dry run: %+v", r)
		}
		o.DryRun = false
		for _, want := range []publish.Status{publish.Promoted, publish.Unchanged} {
			if r := w.promote(t, o); r.Status != want || recorded() != 1 || w.at(t, version) != index {
				t.Errorf("%+v, want %s", r, want)
			}
		}
		if r := w.promote(t, approval.PromoteOptions{}); r.Approval != nil || recorded() != 1 {
			t.Errorf("without a record: %+v", r)
		}
		long := approval.PromoteOptions{Reason: strings.Repeat("x", 5<<10)}
		if _, err := approval.Promote(t.Context(), w.repo, w.address, w.version, long); err == nil {
			t.Error("a reason of 5 KiB was accepted")
		}
	})
}

// TestPromoteReleasedVersion checks the promotion of a version that is already
// released.
func TestPromoteReleasedVersion(t *testing.T) {
	t.Parallel()
	sbom := map[provider.Platform]pkg{nouns.Plan9: {content: "plan9", documents: []string{"plan9.spdx.json"}}}
	other := map[provider.Platform]pkg{nouns.Plan9: {content: "rebuilt"}}
	haiku := map[provider.Platform]pkg{nouns.Haiku: {content: "haiku"}}
	for name, test := range map[string]struct {
		waits, stands map[provider.Platform]pkg
		want          publish.Status
		conflict      string
	}{
		"the same":              {both, both, publish.Unchanged, ""},
		"more platforms":        {both, one, publish.Extended, ""},
		"fewer platforms":       {one, both, publish.Unchanged, ""},
		"others":                {haiku, one, publish.Replaced, "plan9_mips exists in the target but not in the source"},
		"other bytes":           {other, one, publish.Replaced, "plan9_mips has zip sha256:"},
		"more documents":        {sbom, one, publish.Extended, ""},
		"fewer documents":       {one, sbom, publish.Unchanged, ""},
		"more, fewer documents": {both, sbom, publish.Replaced, "plan9.spdx.json for plan9_mips exists in the target but not in the source"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWorld(t, func(t *testing.T, w *world) {
				stood, waits := w.put(t, version, test.stands), w.put(t, waiting, test.waits)
				if test.conflict != "" {
					_, err := approval.Promote(t.Context(), w.repo, w.address, w.version, approval.PromoteOptions{})
					conflict, ok := errors.AsType[*repository.ConflictError](err)
					if !ok || !strings.Contains(conflict.Error(), test.conflict) {
						t.Fatalf("got %v", err)
					}
					if w.at(t, version) != stood || w.at(t, waiting) != waits {
						t.Error("unexpected writes")
					}
				}
				r := w.promote(t, approval.PromoteOptions{Force: test.conflict != ""})
				want := waits
				if test.want == publish.Unchanged {
					want = stood
				}
				if r.Status != test.want || r.Digest != want || w.at(t, version) != want || w.at(t, waiting) != "" {
					t.Errorf("got %+v, the version is %s", r, w.at(t, version))
				}
			})
		})
	}
}

// TestPromoteCutOff checks that an interrupted promotion loses nothing, and that the next run
// completes it.
func TestPromoteCutOff(t *testing.T) {
	t.Parallel()
	for kind, want := range map[registrytest.Kind]struct{ version, waits bool }{
		registrytest.ManifestPut: {false, true}, registrytest.ManifestDelete: {true, true},
	} {
		w := newRegistry(t, registrytest.Options{})
		index := w.put(t, waiting, both)
		w.registry.Misbehave(kind, origintest.Status(http.StatusInternalServerError), -1)
		if _, err := approval.Promote(t.Context(), w.repo, w.address, w.version, approval.PromoteOptions{}); err == nil {
			t.Errorf("%s: no error", kind)
		}
		if got := w.at(t, version) == index; got != want.version {
			t.Errorf("%s: the version exists: %t", kind, got)
		}
		if got := w.at(t, waiting) == index; got != want.waits {
			t.Errorf("%s: the pending tag exists: %t", kind, got)
		}
		w.registry.Behave()
		w.promote(t, approval.PromoteOptions{})
		if w.at(t, version) != index || w.at(t, waiting) != "" {
			t.Errorf("%s: not completed", kind)
		}
	}
}

// TestPromoteMoved checks that packages that are staged during a promotion are not
// lost.
func TestPromoteMoved(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, registrytest.Options{})
	index := w.put(t, waiting, one)
	w.registry.Misbehave(registrytest.ManifestPut, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(rw, r)
		w.put(t, waiting, both)
	}, 1)
	r := w.promote(t, approval.PromoteOptions{})
	if r.Status != publish.Promoted || r.Digest != index || !errors.Is(r.PendingTagError, repository.ErrTagMoved) || w.at(t, version) != index {
		t.Errorf("got %+v", r)
	}
	if r := w.promote(t, approval.PromoteOptions{}); r.Status != publish.Extended || r.PendingTagError != nil || w.at(t, waiting) != "" {
		t.Errorf("got %+v", r)
	}
}

// TestPromoteRefused checks that nothing is written if an error occurs.
func TestPromoteRefused(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused on purpose")
	for name, test := range map[string]struct {
		before  func(t *testing.T, w *world)
		options approval.PromoteOptions
		want    func(error) bool
	}{
		"nothing waits": {func(*testing.T, *world) {}, approval.PromoteOptions{}, is(approval.ErrNotPending)},
		"denied, without a tag": {func(t *testing.T, w *world) {
			w.put(t, waiting, one)
			w.deny(t, approval.DenyOptions{Reason: "it phones home"})
		}, approval.PromoteOptions{Force: true}, is(approval.ErrNothingToPromote)},
		"by its signature": {
			func(t *testing.T, w *world) { w.put(t, waiting, one) },
			approval.PromoteOptions{Force: true, Verify: func(context.Context, provider.Release) (provider.Verdict, error) { return provider.Verdict{}, refused }},
			is(refused),
		},
		"a zip is lost": {func(t *testing.T, w *world) {
			w.put(t, waiting, one)
			i := w.inspect(t, waiting)
			w.registry.Delete(t, repositoryName, i.Platforms[nouns.Plan9].Manifest.Zip.Digest.String())
		}, approval.PromoteOptions{Force: true}, is(approval.ErrIncomplete)},
		"a manifest is lost": {func(t *testing.T, w *world) {
			w.put(t, waiting, one)
			w.registry.Delete(t, repositoryName, w.inspect(t, waiting).Index.Targets[0].Descriptor.Digest.String())
		}, approval.PromoteOptions{Force: true}, is(approval.ErrIncomplete)},
		"another provider's": {func(t *testing.T, w *world) {
			w.put(t, waiting, one)
			w.address = nouns.Address(t, "acme/other")
		}, approval.PromoteOptions{Force: true}, isForeign},
		"in another provider's repository": {func(t *testing.T, w *world) {
			mine, next := w.address, w.version
			w.address, w.version = nouns.Address(t, "acme/other"), nouns.Version(t, "2.0.0")
			w.put(t, "2.0.0", one)
			w.address, w.version = mine, next
			w.put(t, waiting, one)
		}, approval.PromoteOptions{}, isForeign},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRegistry(t, registrytest.Options{})
			test.before(t, w)
			writes := w.registry.Writes()
			_, err := approval.Promote(t.Context(), w.repo, w.address, w.version, test.options)
			if !test.want(err) {
				t.Errorf("got %v", err)
			}
			if n := w.registry.Writes() - writes; n != 0 {
				t.Errorf("%d requests that write", n)
			}
		})
	}
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

func isForeign(err error) bool {
	_, ok := errors.AsType[*repository.ProviderMismatchError](err)
	return ok
}

func (w *world) inspect(t *testing.T, tag string) repository.Inspection {
	t.Helper()
	i, err := repository.Inspect(t.Context(), w.repo, tag, repository.DepthManifests)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestPromotePruned checks that a pruned version is restored if neither a pending nor a
// released version exists. It also checks that the version is not immediately pruned
// again.
func TestPromotePruned(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		other := nouns.Version(t, "1.0.0")
		dates := map[provider.Version]time.Time{w.version: time.Unix(1e9, 0), other: time.Unix(1e9, 0)}
		err := repository.WriteSyncRecord(t.Context(), w.repo, func(r *artifact.SyncRecord) { r.Unwanted, r.Pruned = dates, dates })
		if err != nil {
			t.Fatal(err)
		}
		index := w.put(t, version, both)
		w.put(t, waiting, one)
		if _, err := repository.Prune(t.Context(), w.repo, w.version, ""); err != nil {
			t.Fatal(err)
		}
		if r := w.promote(t, approval.PromoteOptions{DryRun: true}); r.Digest == index {
			t.Errorf("the pending release does not come first: %+v", r)
		}
		if err := w.repo.Capabilities().DeleteTag(t.Context(), waiting, w.at(t, waiting)); err != nil {
			t.Fatal(err)
		}
		entries, err := approval.List(t.Context(), w.repo)
		if len(entries) != 1 || entries[0].State != approval.Pruned || entries[0].Digest != index || len(entries[0].Platforms) != 2 || err != nil {
			t.Errorf("got %+v, %v", entries, err)
		}
		var got []approval.Decision
		promote := func(constraint string, dry bool) {
			t.Helper()
			got = nil
			wanted, err := provider.ParseRequirement("acme/thing" + constraint)
			if err != nil {
				t.Fatal(err)
			}
			err = approval.PromoteMany(t.Context(), []provider.Requirement{wanted}, approval.ManyOptions{
				PromoteOptions: approval.PromoteOptions{DryRun: dry}, Latest: 1,
				Open: func(provider.Address) (repository.Repository, error) { return w.repo, nil },
				Done: func(d approval.Decision) { got = append(got, d) },
			})
			if err != nil || len(got) != 1 {
				t.Fatalf("got %+v, %v", got, err)
			}
		}
		for _, constraint := range []string{"", "@~> 1.0", "@1.2.4"} {
			if promote(constraint, false); !errors.Is(got[0].Err, approval.ErrNotPending) {
				t.Errorf("%s: got %+v", constraint, got)
			}
		}
		promote("@1.2.3", true)
		if got[0].Result.Status != publish.Promoted || w.at(t, pruned) != index || w.at(t, version) != "" {
			t.Errorf("a dry run: %+v", got)
		}
		promote("@1.2.3", false)
		if got[0].Err != nil || got[0].Result.Status != publish.Promoted || got[0].Result.PendingTagError != nil || w.at(t, version) != index || w.at(t, pruned) != "" {
			t.Errorf("got %+v", got)
		}
		record, err := repository.ReadSyncRecord(t.Context(), w.repo)
		delete(dates, w.version)
		if want := (artifact.SyncRecord{Unwanted: dates, Pruned: dates}); err != nil || !record.Equal(want) {
			t.Errorf("got %+v, %v", record, err)
		}
	})
}

// TestDenyPruned checks that a pruned version can be denied, and that it can't be
// restored afterwards.
func TestDenyPruned(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		index := w.put(t, version, both)
		if _, err := repository.Prune(t.Context(), w.repo, w.version, ""); err != nil {
			t.Fatal(err)
		}
		if r := w.deny(t, because); r.Status != publish.Denied || r.Record.Index != index || w.at(t, pruned) != index {
			t.Errorf("got %+v", r)
		}
		_, promoted := approval.Promote(t.Context(), w.repo, w.address, w.version, approval.PromoteOptions{})
		_, restored := approval.Restore(t.Context(), w.repo, w.address, w.version, publish.ActionMirror, approval.PromoteOptions{})
		for _, err := range []error{promoted, restored} {
			if _, ok := errors.AsType[*repository.DeniedError](err); !ok {
				t.Errorf("got %v", err)
			}
		}
	})
}

// TestPromoteKeepsVersion checks registries that delete a manifest when any of its tags
// is deleted. Promote restores the tag of the version.
func TestPromoteKeepsVersion(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, registrytest.Options{DeletesManifests: true})
	index := w.put(t, waiting, both)
	if r := w.promote(t, approval.PromoteOptions{}); r.Status != publish.Promoted || r.PendingTagError != nil {
		t.Errorf("got %+v", r)
	}
	if diff := cmp.Diff([]string{version}, w.registry.Tags(t, repositoryName)); diff != "" || w.at(t, version) != index {
		t.Error(diff)
	}
}

// TestPromoteWithFaults checks that an approval that can't be recorded doesn't change a tag.
// All requests of a kind fail, starting with any of them.
func TestPromoteWithFaults(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]registrytest.Options{"API": {}, "no API": {NoReferrers: http.StatusNotFound}} {
		for _, kind := range []registrytest.Kind{registrytest.ManifestPut, registrytest.UploadPost, registrytest.Referrers} {
			t.Run(name+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				for n := range 50 {
					w := newRegistry(t, o)
					index := w.put(t, waiting, one)
					w.registry.Misbehave(kind, registrytest.After(n, registrytest.Refuse(http.StatusInternalServerError, "UNKNOWN", "a fault")), -1)
					_, err := approval.Promote(t.Context(), w.repo, w.address, w.version, approval.PromoteOptions{Reason: "reviewed"})
					w.registry.Behave()
					if moved := w.at(t, version) != ""; moved != (err == nil) {
						t.Fatalf("%d: the tag was written: %t, %v", n, moved, err)
					}
					if err != nil {
						continue
					}
					if records, err := repository.Decisions(t.Context(), w.repo, index); err != nil || len(records) != 1 {
						t.Errorf("%d: got %v, %v", n, records, err)
					}
					return
				}
				t.Error("the release was never promoted")
			})
		}
	}
}

// deletedLate deletes an index after the version's tag was read for the first time since the
// pruned tag was deleted, like another run that found the version pruned.
type deletedLate struct {
	repository.Repository
	remove func()
	isDone bool
}

func (r *deletedLate) Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	d, data, err := r.Repository.Manifest(ctx, reference)
	if tags, _ := r.Tags(ctx); reference == version && !r.isDone && slices.Contains(tags, version) && !slices.Contains(tags, "pruned-"+version) {
		r.isDone = true
		r.remove()
	}
	return d, data, err
}

// TestRestoreDeletedLate checks that a restored version is complete if another run has found
// it pruned and deletes its index after it was restored.
func TestRestoreDeletedLate(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, registrytest.Options{})
	index := w.put(t, version, both)
	if _, err := repository.Prune(t.Context(), w.repo, w.version, ""); err != nil {
		t.Fatal(err)
	}
	repo := &deletedLate{Repository: w.repo, remove: func() { w.registry.Delete(t, repositoryName, index.String()) }}
	if _, err := approval.Restore(t.Context(), repo, w.address, w.version, publish.ActionMirror, approval.PromoteOptions{}); err != nil {
		t.Fatal(err)
	}
	i := w.inspect(t, version)
	if !repo.isDone || i.Digest != index || i.Dangling {
		t.Errorf("deleted: %t, got %+v", repo.isDone, i)
	}
}
