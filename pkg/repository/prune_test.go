package repository_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestPruneAndRestore checks that a restored version has all of its content, and that
// each step can be repeated.
func TestPruneAndRestore(t *testing.T) {
	t.Parallel()
	eachPruned(t, func(t *testing.T, e *end) {
		index := e.fill(t).Digest
		before := e.content(t)
		for range 2 {
			if got := e.prune(t); got != index {
				t.Errorf("pruned %s, want %s", got, index)
			}
			e.wantTags(t, "", index)
		}
		for range 2 {
			got, err := restore(t.Context(), t, e.open(t))
			if got != index || err != nil {
				t.Errorf("restored %s, %v", got, err)
			}
			e.wantTags(t, index, "")
		}
		if diff := cmp.Diff(before, e.content(t)); diff != "" {
			t.Error(diff)
		}
		// A version with both tags is not pruned.
		e.tagAs(t, prunedTag, index)
		if got, err := restore(t.Context(), t, e.open(t)); got != index || err != nil {
			t.Errorf("restored %s, %v", got, err)
		}
		e.wantTags(t, index, "")
	})
}

// TestDeletePruned checks that the index and its referrers are deleted, and that
// content of other versions is kept.
func TestDeletePruned(t *testing.T) {
	t.Parallel()
	eachPruned(t, func(t *testing.T, e *end) {
		index := e.fill(t).Digest
		e.pushAs(t, "1.2.2", map[provider.Platform]string{haiku: twoZips[haiku], plan9: "an older zip of plan9"})
		other := e.contentOf(t, "1.2.2")
		referrers := e.referrers(t, e.open(t), index)
		e.prune(t)
		for range 2 {
			if err := e.deletePruned(t); err != nil {
				t.Fatal(err)
			}
			e.wantTags(t, "", "")
		}
		if _, _, err := e.open(t).Manifest(t.Context(), index.String()); !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("the index: %v", err)
		}
		byAPI := e.registry != nil && e.open(t).Capabilities().Referrers != nil
		if byAPI {
			_, byAPI, _ = e.open(t).Capabilities().Referrers(t.Context(), index)
		}
		for _, d := range referrers {
			if _, _, err := e.open(t).Manifest(t.Context(), d.Digest.String()); errors.Is(err, repository.ErrNotFound) != byAPI {
				t.Errorf("a referrer: %v", err)
			}
		}
		if diff := cmp.Diff(other, e.contentOf(t, "1.2.2")); diff != "" {
			t.Errorf("another version: %s", diff)
		}
		_, err := e.open(t).Stat(t.Context(), ocispec.Descriptor{Digest: digest.FromString(twoZips[plan9])})
		if isCollected := errors.Is(err, repository.ErrNotFound); isCollected != (e.registry == nil) {
			t.Errorf("the zip that no version needs: %v", err)
		}
	})
}

// TestPruneMissing checks versions that have no tags or whose index is missing.
func TestPruneMissing(t *testing.T) {
	t.Parallel()
	eachPruned(t, func(t *testing.T, e *end) {
		v := nouns.Version(t, tag)
		wantNothing := func() {
			t.Helper()
			if _, err := repository.Prune(t.Context(), e.open(t), v, ""); err == nil {
				t.Error("pruned nothing")
			}
			if _, err := restore(t.Context(), t, e.open(t)); err == nil {
				t.Error("restored nothing")
			}
		}
		e.pushAs(t, "1.2.2", twoZips)
		wantNothing()
		if err := e.deletePruned(t); err != nil {
			t.Error(err)
		}
		e.push(t, twoZips)
		e.loseIndex(t, tag)
		wantNothing()
		e.push(t, twoZips)
		e.prune(t)
		e.loseIndex(t, prunedTag)
		if err := e.deletePruned(t); err != nil {
			t.Error(err)
		}
		if tags, err := e.open(t).Tags(t.Context()); len(tags) != 1 || err != nil {
			t.Errorf("the tags are %v, %v", tags, err)
		}
		if len(e.contentOf(t, "1.2.2")) == 0 {
			t.Error("another version is gone")
		}
	})
}

// loseIndex deletes the index that a tag points to. In registries, deleting the index
// also deletes the tag.
func (e *end) loseIndex(t *testing.T, tag string) {
	t.Helper()
	index := e.at(t, tag)
	e.lose(t, index)
	if e.registry != nil {
		e.registry.Delete(t, repositoryName, tag)
	}
}

// TestRestoreIncomplete checks that an incomplete version is not restored, not even in registries
// that accept it.
func TestRestoreIncomplete(t *testing.T) {
	t.Parallel()
	for kind, o := range map[string]*registrytest.Options{"layout": nil, "registry": {Lax: true}} {
		for name, lost := range map[string]digest.Digest{"zip": digest.FromString(twoZips[haiku]), "manifest": pack(t, twoZips).Manifests[1].Descriptor.Digest} {
			t.Run(name+" in "+kind, func(t *testing.T) {
				t.Parallel()
				e := newEnd(t, o)
				index := e.push(t, twoZips).Digest
				e.prune(t)
				e.lose(t, lost)
				if _, err := restore(t.Context(), t, e.open(t)); !errors.Is(err, approval.ErrIncomplete) {
					t.Errorf("got %v", err)
				}
				e.wantTags(t, "", index)
				// After the version is mirrored again and restored, only the version's
				// tag exists.
				e.push(t, twoZips)
				if _, err := restore(t.Context(), t, e.open(t)); err != nil {
					t.Error(err)
				}
				e.wantTags(t, index, "")
			})
		}
	}
}

// TestPruneIncomplete checks that an incomplete version with both tags is not pruned. A
// registry that deletes manifests with their tags would delete both tags, and would not
// accept the index again.
func TestPruneIncomplete(t *testing.T) {
	t.Parallel()
	e := newEnd(t, &registrytest.Options{DeletesManifests: true})
	index := e.push(t, twoZips).Digest
	e.tagAs(t, prunedTag, index)
	e.lose(t, pack(t, twoZips).Manifests[1].Descriptor.Digest)
	if _, err := repository.Prune(t.Context(), e.open(t), nouns.Version(t, tag), index); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	e.wantTags(t, index, index)
}

// TestPruneOtherIndex checks that only the expected index is pruned or deleted.
func TestPruneOtherIndex(t *testing.T) {
	t.Parallel()
	eachPruned(t, func(t *testing.T, e *end) {
		index, other := e.push(t, twoZips).Digest, digest.FromString("another index")
		if _, err := repository.Prune(t.Context(), e.open(t), nouns.Version(t, tag), other); !errors.Is(err, repository.ErrTagMoved) {
			t.Errorf("got %v", err)
		}
		e.wantTags(t, index, "")
		e.prune(t)
		if err := repository.DeletePruned(t.Context(), e.open(t), nouns.Version(t, tag), other); !errors.Is(err, repository.ErrTagMoved) {
			t.Errorf("got %v", err)
		}
		e.wantTags(t, "", index)
	})
}

// TestDeletePrunedInUse checks that an index with another tag is not deleted, even if the list
// of tags is incomplete.
func TestDeletePrunedInUse(t *testing.T) {
	t.Parallel()
	for _, other := range []string{tag, "pending-1.2.3", "latest", "v1.2.3", "1.2.3-stable"} {
		for _, kind := range []string{"layout", "registry", "deletes tags first"} {
			t.Run(other+" in "+kind, func(t *testing.T) {
				t.Parallel()
				e := newEnd(t, pruneKinds[kind])
				index := e.fill(t).Digest
				e.pushAs(t, "1.2.2", twoZips)
				e.prune(t)
				e.tagAs(t, other, index)
				if e.registry != nil && other != "latest" && other != "v1.2.3" && other != "1.2.3-stable" {
					e.registry.Misbehave(registrytest.Tags, registrytest.EditTags(func(tags []string) []string { return tags[:1] }), -1)
				}
				before := e.contentOf(t, other)
				if err := e.deletePruned(t); !errors.Is(err, repository.ErrInUse) {
					t.Errorf("got %v", err)
				}
				if diff := cmp.Diff(before, e.contentOf(t, other)); diff != "" || e.at(t, prunedTag) != index {
					t.Errorf("%s", diff)
				}
			})
		}
	}
}

// TestDeletePrunedRestored checks that DeletePruned keeps a version that another run
// restores immediately before the deletion.
func TestDeletePrunedRestored(t *testing.T) {
	t.Parallel()
	eachPruned(t, func(t *testing.T, e *end) {
		index := e.push(t, twoZips).Digest
		pruned := artifact.PrunedTag(nouns.Version(t, tag))
		err := e.open(t).Capabilities().DeleteManifest(t.Context(), index, pruned)
		if !errors.Is(err, repository.ErrTagMoved) && !errors.Is(err, repository.ErrInUse) {
			t.Errorf("got %v", err)
		}
		e.wantTags(t, index, "")
	})
}

// TestPruneWhileRestored checks that a version keeps a tag if one run restores it while
// another one prunes it.
func TestPruneWhileRestored(t *testing.T) {
	t.Parallel()
	eachPruned(t, func(t *testing.T, e *end) {
		index := e.push(t, twoZips).Digest
		e.tagAs(t, prunedTag, index)
		restored := e.inspect(t, repository.DepthIndex)
		if err := repository.Untag(t.Context(), e.open(t), prunedTag, index, restored); err != nil { // the other run
			t.Fatal(err)
		}
		if err := repository.Untag(t.Context(), e.open(t), tag, index, repository.Inspection{Tag: prunedTag, Descriptor: restored.Descriptor, Bytes: restored.Bytes}); err != nil {
			t.Fatal(err)
		}
		e.wantTags(t, "", index)
	})
}

// TestDeletePrunedKeepsDenial checks that denials and other tagged referrers are not deleted.
func TestDeletePrunedKeepsDenial(t *testing.T) {
	t.Parallel()
	eachPruned(t, func(t *testing.T, e *end) {
		index := e.fill(t)
		packed, err := artifact.Decision{Kind: artifact.DecisionDeny, Verdict: artifact.VerdictDeny, Reason: "because"}.Pack(index, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := repository.AttachDecision(t.Context(), e.open(t), packed, index); err != nil {
			t.Fatal(err)
		}
		e.tagAs(t, "denied-1.2.3", packed.Manifest.Descriptor.Digest)
		tagged := e.referrers(t, e.open(t), index.Digest)[0].Digest
		e.tagAs(t, "signed", tagged)
		e.prune(t)
		if _, err := restore(t.Context(), t, e.open(t)); err == nil {
			t.Error("a denied version was restored")
		}
		if err := e.deletePruned(t); err != nil {
			t.Fatal(err)
		}
		record, exists, err := repository.ReadDenial(t.Context(), e.open(t), nouns.Version(t, tag))
		if record.Reason != "because" || !exists || err != nil {
			t.Errorf("got %+v, %v", record, err)
		}
		if e.at(t, "signed") != tagged {
			t.Error("a tagged referrer was deleted")
		}
	})
}

// TestPruneRefused checks that Prune and DeletePruned verify each deletion, regardless
// of the registry's response.
func TestPruneRefused(t *testing.T) {
	t.Parallel()
	swallow := func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) { w.WriteHeader(http.StatusAccepted) }
	for name, fault := range map[string]origintest.Fault{
		"405":               registrytest.Refuse(http.StatusMethodNotAllowed, "UNSUPPORTED", "no"),
		"403":               origintest.Status(http.StatusForbidden),
		"404 of everything": origintest.Status(http.StatusNotFound),
		"yes, and does not": swallow,
		"needs its tag":     registrytest.Refuse(http.StatusBadRequest, "GOOGLE_MANIFEST_DANGLING_TAG", "no"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnd(t, pruneKinds["registry"])
			index := e.fill(t).Digest
			e.registry.Misbehave(registrytest.ManifestDelete, fault, -1)
			for range 2 {
				if _, err := repository.Prune(t.Context(), e.open(t), nouns.Version(t, tag), ""); !errors.Is(err, repository.ErrTagNotDeleted) {
					t.Errorf("got %v", err)
				}
				e.wantTags(t, index, index)
			}
			e.registry.Behave()
			before := e.content(t)
			e.prune(t)
			e.registry.Misbehave(registrytest.ManifestDelete, fault, -1)
			err := e.deletePruned(t)
			about, ok := errors.AsType[*repository.Error](err)
			if !errors.Is(err, repository.ErrTagNotDeleted) || !ok || about.Name != repositoryName {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(before, e.contentOf(t, prunedTag)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPruneLostTag checks that a version keeps its tag if the registry loses the pruned
// tag.
func TestPruneLostTag(t *testing.T) {
	t.Parallel()
	e := newEnd(t, pruneKinds["registry"])
	index := e.push(t, twoZips).Digest
	e.registry.Misbehave(registrytest.ManifestPut, registrytest.Forget(), 1)
	if _, err := repository.Prune(t.Context(), e.open(t), nouns.Version(t, tag), ""); err == nil {
		t.Error("no error")
	}
	e.wantTags(t, index, "")
}

// TestPruneWhileExtended checks that Prune does not prune a version that another run
// extends at the same time.
func TestPruneWhileExtended(t *testing.T) {
	t.Parallel()
	eachPruned(t, func(t *testing.T, e *end) {
		e.push(t, map[provider.Platform]string{haiku: twoZips[haiku]})
		var extended digest.Digest
		repo := hooked{e.open(t), func(string) { extended = e.push(t, twoZips).Digest }}
		if _, err := repository.Prune(t.Context(), repo, nouns.Version(t, tag), ""); !errors.Is(err, repository.ErrTagMoved) {
			t.Errorf("got %v", err)
		}
		e.wantTags(t, extended, "")
		if len(e.content(t)) == 0 {
			t.Error("the version is incomplete")
		}
		e.prune(t)
		e.wantTags(t, "", extended)
	})
}

// TestPruneKilled kills a run after each step. It checks that one of the version's tags
// always points to a complete release, and that a second run completes the first run.
func TestPruneKilled(t *testing.T) {
	t.Parallel()
	v := nouns.Version(t, tag)
	for name, test := range map[string]struct {
		pruned bool // whether the version is pruned before the run
		do     func(ctx context.Context, repo repository.Repository) error
		check  func(t *testing.T, e *end, index digest.Digest)
	}{
		"prune": {false, func(ctx context.Context, repo repository.Repository) error {
			_, err := repository.Prune(ctx, repo, v, "")
			return err
		}, func(t *testing.T, e *end, index digest.Digest) { e.wantTags(t, "", index) }},
		"restore": {true, func(ctx context.Context, repo repository.Repository) error {
			_, err := restore(ctx, t, repo)
			return err
		}, func(t *testing.T, e *end, index digest.Digest) { e.wantTags(t, index, "") }},
		"delete": {true, func(ctx context.Context, repo repository.Repository) error {
			return repository.DeletePruned(ctx, repo, v, "")
		}, func(t *testing.T, e *end, index digest.Digest) {
			e.wantTags(t, "", "")
			if e.registry == nil && len(files(t, e.ref.Layout)) != len(files(t, e.onlyNeighbor(t))) {
				t.Errorf("content is left: %v", files(t, e.ref.Layout))
			}
		}},
	} {
		for _, kind := range []string{"layout", "registry", "keeps tags of manifests", "deletes tags first"} {
			for _, late := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " in ", kind, " ", late), func(t *testing.T) {
					t.Parallel()
					for steps := 0; ; steps++ {
						e := newEnd(t, pruneKinds[kind])
						e.pushAs(t, "1.2.2", map[provider.Platform]string{haiku: twoZips[haiku]})
						index := e.push(t, twoZips).Digest
						if test.pruned {
							e.prune(t)
						}
						ctx, repo, life := e.killed(t, steps, late)
						_ = test.do(ctx, repo)
						if e.contentOf(t, "1.2.2"); e.at(t, tag) != "" {
							e.content(t)
						} else if name != "delete" {
							e.contentOf(t, prunedTag)
						}
						if err := test.do(t.Context(), e.open(t)); err != nil {
							t.Fatalf("after %d steps: %v", steps, err)
						}
						if test.check(t, e, index); !life.isDead() || t.Failed() {
							return
						}
					}
				})
			}
		}
	}
}

// onlyNeighbor returns the directory of a layout that contains only version 1.2.2.
func (e *end) onlyNeighbor(t *testing.T) string {
	t.Helper()
	other := newEnd(t, nil)
	other.pushAs(t, "1.2.2", map[provider.Platform]string{haiku: twoZips[haiku]})
	return other.ref.Layout
}

// TestLayoutTagNeedsContent checks that PushTag requires the content that a manifest refers to.
func TestLayoutTagNeedsContent(t *testing.T) {
	t.Parallel()
	packed := pack(t, twoZips)
	for name, lost := range map[string]digest.Digest{
		"a zip": digest.FromString(twoZips[haiku]), "a manifest": packed.Manifests[1].Descriptor.Digest, "a document": packed.Documents[1].Digest, "the config": packed.Documents[0].Digest,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnd(t, nil)
			e.push(t, twoZips)
			e.lose(t, lost)
			err := e.open(t).PushTag(t.Context(), packed.Index, "2.0.0", "")
			if !errors.Is(err, repository.ErrContentDeleted) || !errors.Is(err, repository.ErrTagMoved) {
				t.Errorf("got %v", err)
			}
			if e.at(t, "2.0.0") != "" {
				t.Error("the tag was written")
			}
		})
	}
}

// TestLayoutKeepsForeignContent checks that nothing is deleted if a different entry's
// manifest can't be interpreted.
func TestLayoutKeepsForeignContent(t *testing.T) {
	t.Parallel()
	e := newEnd(t, nil)
	index := e.push(t, twoZips).Digest
	before := e.content(t)
	e.prune(t)
	foreign := blob(`{"mediaType":"` + ocispec.MediaTypeImageManifest + `","layers":[{"digest":"sha512:1","size":1}]}`)
	pushTag(t, e.open(t), foreign, "other", "")
	if err := e.deletePruned(t); err == nil {
		t.Error("no error")
	}
	if diff := cmp.Diff(before, e.contentOf(t, prunedTag)); diff != "" || e.at(t, prunedTag) != index {
		t.Error(diff)
	}
	if err := e.open(t).Capabilities().DeleteTag(t.Context(), "other", foreign.Descriptor.Digest); err != nil {
		t.Fatal(err)
	}
	e.pushAs(t, "1.2.2", twoZips)
	e.lose(t, pack(t, twoZips).Manifests[0].Descriptor.Digest) // 1.2.2 shares this manifest
	if err := e.deletePruned(t); err != nil {
		t.Errorf("a missing manifest: %v", err)
	}
}

// TestPruneWhilePublished concurrently publishes, prunes, and deletes versions that
// share content. It checks that each version with a tag is complete.
func TestPruneWhilePublished(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"layout", "registry"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e := newEnd(t, pruneKinds[kind])
			var group sync.WaitGroup
			for worker := range 4 {
				random := rand.New(rand.NewPCG(uint64(worker), 0))
				group.Go(func() {
					repo := e.open(t)
					for range 40 {
						n := random.IntN(3)
						v := nouns.Version(t, fmt.Sprintf("1.2.%d", n))
						var err error
						switch random.IntN(4) {
						case 0:
							_, err = repository.Prune(t.Context(), repo, v, "")
						case 1:
							err = repository.DeletePruned(t.Context(), repo, v, "")
						default:
							_, err = e.tryPushAs(t.Context(), t, repo, artifact.Tag(v), map[provider.Platform]string{haiku: twoZips[haiku], plan9: fmt.Sprint(n)})
						}
						if err != nil && e.registry == nil && !isExpected(err) {
							t.Error(err)
						}
						if e.registry == nil && n == 0 {
							e.wantComplete(t)
						}
					}
				})
			}
			group.Wait()
			e.wantComplete(t)
		})
	}
}

// isExpected reports whether an error is caused by a concurrent run, for example one that prunes a
// version between writing its tag and reading it back.
func isExpected(err error) bool {
	return provider.KindOf(err) == provider.Transient || slices.ContainsFunc([]error{repository.ErrTagMoved, repository.ErrInUse, provider.ErrVersionNotFound, repository.ErrNoRepository, repository.ErrNotFound}, func(want error) bool { return errors.Is(err, want) })
}

// wantComplete checks all tagged releases. If a tag moves during the check, its release
// is checked by the next call.
func (e *end) wantComplete(t *testing.T) {
	t.Helper()
	tags, _ := e.open(t).Tags(t.Context())
	for _, v := range artifact.Tags(tags).Tagged() {
		i, err := repository.Inspect(t.Context(), e.open(t), artifact.Tag(v), repository.DepthBlobs)
		if err != nil || !i.Exists() || e.at(t, artifact.Tag(v)) != i.Digest {
			continue
		}
		for p, f := range i.Platforms {
			if !f.IsIntact() {
				t.Errorf("%s for %s: %v %v", v, p, f.Err, f.Missing)
			}
		}
	}
}
