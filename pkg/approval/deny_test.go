package approval_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

var because = approval.DenyOptions{Reason: "it phones home", By: "jane"}

func (w *world) deny(t *testing.T, o approval.DenyOptions) approval.Result {
	t.Helper()
	r, err := approval.Deny(t.Context(), w.repo, w.address, w.version, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDeny checks that denying a pending version removes its pending tag, and that the
// reason can be read.
func TestDeny(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		index := w.put(t, waiting, both)
		try := because
		try.DryRun = true
		if r := w.deny(t, try); r.Status != publish.Denied || w.at(t, waiting) != index || w.at(t, denied) != "" {
			t.Errorf("a dry run: %+v", r)
		}
		r := w.deny(t, because)
		if r.Status != publish.Denied || r.Tag != denied || r.Digest != w.at(t, denied) || r.PendingTagError != nil || w.at(t, waiting) != "" {
			t.Errorf("got %+v", r)
		}
		record, _, err := repository.ReadDenial(t.Context(), w.repo, w.version)
		if err != nil || record.Reason != because.Reason || record.By != "jane" || record.Index != index || len(record.Packages) != 2 {
			t.Fatalf("got %+v, %v", record, err)
		}
		// A second denial with a different reason changes nothing.
		again := w.deny(t, approval.DenyOptions{Reason: "another"})
		if again.Status != publish.Unchanged || again.Digest != r.Digest || again.Record.Reason != because.Reason {
			t.Errorf("again: %+v", again)
		}
		_, err = approval.Promote(t.Context(), w.repo, w.address, w.version, approval.PromoteOptions{})
		if refused, ok := errors.AsType[*repository.DeniedError](err); !ok || refused.Record.Reason != because.Reason {
			t.Errorf("promoting the denied version: %v", err)
		}
	})
}

// TestDenialIsReferrer checks that the denial refers to the index, but is not one of its documents.
func TestDenialIsReferrer(t *testing.T) {
	t.Parallel()
	for _, o := range []registrytest.Options{{}, {NoReferrers: http.StatusNotFound}} {
		w := newRegistry(t, o)
		w.put(t, waiting, one)
		index := w.inspect(t, waiting).Descriptor
		sbom := artifact.NewDocument("all.spdx.json", artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"SPDX-2.3"}`))
		if _, err := repository.Attach(t.Context(), w.repo, []provider.Document{sbom}, artifact.Blob{Descriptor: index}); err != nil {
			t.Fatal(err)
		}
		r := w.deny(t, because)
		list, _, err := w.repo.Capabilities().Referrers(t.Context(), index.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if o.NoReferrers != 0 {
			if list, err = artifact.ParseReferrers(w.registry.Manifest(t, repositoryName, artifact.ReferrersTag(index.Digest))); err != nil {
				t.Fatal(err)
			}
		}
		const recordType = "application/json"
		types := map[string]bool{}
		for _, d := range list {
			types[d.ArtifactType] = true
			if d.ArtifactType == recordType && d.Digest != r.Digest {
				t.Errorf("another denial: %s", d.Digest)
			}
		}
		if diff := cmp.Diff(map[string]bool{recordType: true, artifact.MediaTypeSPDX: true}, types); diff != "" {
			t.Error(diff)
		}
		documents, err := repository.Documents(t.Context(), w.repo, index.Digest)
		if err != nil || len(documents) != 1 || documents[0].Name != "all.spdx.json" {
			t.Errorf("documents %v, %v", documents, err)
		}
	}
}

// TestDenialOutlastsRelease checks that the denial can be read after the registry has
// garbage-collected the denied index.
func TestDenialOutlastsRelease(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, registrytest.Options{})
	index := w.put(t, waiting, one)
	w.deny(t, because)
	w.registry.Delete(t, repositoryName, index.String())
	record, _, err := repository.ReadDenial(t.Context(), w.repo, w.version)
	if err != nil || record.Reason != because.Reason || record.Packages[nouns.Plan9.String()] == "" {
		t.Errorf("got %+v, %v", record, err)
	}
	// A denial without its document still denies the version.
	document, err := artifact.ParseReferrer(w.registry.Manifest(t, repositoryName, denied))
	if err != nil {
		t.Fatal(err)
	}
	w.registry.Delete(t, repositoryName, document.Digest.String())
	record, _, err = repository.ReadDenial(t.Context(), w.repo, w.version)
	if err != nil || record.Reason != "reason unavailable" || record.Index != index {
		t.Errorf("got %+v, %v", record, err)
	}
}

// TestDenyReleased checks that a released version is denied before its tag is deleted, and that it
// can't be promoted afterwards.
func TestDenyReleased(t *testing.T) {
	t.Parallel()
	for name, pending := range map[string]map[provider.Platform]pkg{"released": nil, "pending too": one, "pending with more": both} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWorld(t, func(t *testing.T, w *world) {
				w.put(t, "1.2.2", one)
				index := w.put(t, version, one)
				if pending != nil {
					w.put(t, waiting, pending)
				}
				try := because
				try.DryRun = true
				if r := w.deny(t, try); r.Status != publish.Denied || w.at(t, version) != index || w.at(t, denied) != "" {
					t.Errorf("a dry run: %+v", r)
				}
				r := w.deny(t, because)
				if r.Status != publish.Denied || r.Digest != w.at(t, denied) || r.PendingTagError != nil || r.VersionTagError != nil || w.at(t, version) != "" || w.at(t, waiting) != "" || w.at(t, "1.2.2") == "" {
					t.Errorf("got %+v", r)
				}
				if r := w.deny(t, because); r.Status != publish.Unchanged {
					t.Errorf("again: %+v", r)
				}
				// Another tool restores the tag.
				w.put(t, version, both)
				_, err := approval.Promote(t.Context(), w.repo, w.address, w.version, approval.PromoteOptions{})
				if _, ok := errors.AsType[*repository.DeniedError](err); !ok {
					t.Errorf("promoting the denied version: %v", err)
				}
				again := w.deny(t, approval.DenyOptions{Reason: "another"})
				if again.Status != publish.Denied || again.Record.Reason != because.Reason || w.at(t, version) != "" {
					t.Errorf("after the tag was restored: %+v", again)
				}
			})
		})
	}
}

// TestDenyTagNotDeleted checks registries that don't delete tags. The tag of the version
// doesn't change, and every result reports this.
func TestDenyTagNotDeleted(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, registrytest.Options{NoDelete: http.StatusMethodNotAllowed})
	index := w.put(t, version, one)
	for _, want := range []publish.Status{publish.Denied, publish.Denied} {
		r := w.deny(t, because)
		if r.Status != want || !errors.Is(r.VersionTagError, repository.ErrTagNotDeleted) || w.at(t, version) != index {
			t.Errorf("got %+v", r)
		}
	}
	if err := repository.CheckDenied(t.Context(), w.repo, w.version); err == nil {
		t.Error("the version is not denied")
	}
	// The tag of the denial also remains, so the denial can't be overridden.
	_, err := approval.Promote(t.Context(), w.repo, w.address, w.version, approval.PromoteOptions{Force: true})
	if !errors.Is(err, repository.ErrTagNotDeleted) {
		t.Errorf("promoting the denied version: %v", err)
	}
}

// TestDenyOverwrites checks that Overwrite replaces a tag that can't be deleted, except if
// tags are immutable, and that the version can be promoted again.
func TestDenyOverwrites(t *testing.T) {
	t.Parallel()
	overwrite := because
	overwrite.Overwrite = true
	for _, immutable := range []bool{false, true} {
		w := newRegistry(t, registrytest.Options{NoDelete: http.StatusMethodNotAllowed, ImmutableTags: immutable})
		index := w.put(t, version, one)
		w.deny(t, because)
		r := w.deny(t, overwrite)
		if immutable {
			if !errors.Is(r.VersionTagError, repository.ErrTagNotDeleted) || w.at(t, version) != index {
				t.Errorf("immutable tags: got %+v", r)
			}
			continue
		}
		now := w.inspect(t, version)
		if r.VersionTagError != nil || !now.IsDenial() || len(now.Index.Platforms()) > 0 {
			t.Errorf("got %+v, %+v", r, now)
		}
		for _, o := range []approval.DenyOptions{because, overwrite} {
			if r := w.deny(t, o); r.Status != publish.Unchanged || r.VersionTagError != nil {
				t.Errorf("again: %+v", r)
			}
		}
		if records, err := approval.History(t.Context(), w.repo, w.address, w.version); err != nil || len(records) != 1 || records[0].Index != index {
			t.Errorf("history: %+v, %v", records, err)
		}
		_, err := approval.Promote(t.Context(), w.repo, w.address, w.version, approval.PromoteOptions{Force: true})
		if !errors.Is(err, approval.ErrNothingToPromote) {
			t.Errorf("nothing is left to promote: %v", err)
		}
		w.put(t, waiting, both)
		// The tag of the denial can't be deleted either.
		if _, err = approval.Promote(t.Context(), w.repo, w.address, w.version, approval.PromoteOptions{Force: true}); !errors.Is(err, repository.ErrTagNotDeleted) || w.at(t, version) != w.at(t, waiting) {
			t.Errorf("promoting another release: %v", err)
		}
	}
}

// TestDenyTagNotDeletedOverruled checks that a denied version with a tag can be promoted with Force.
func TestDenyTagNotDeletedOverruled(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		w.put(t, version, one)
		w.deny(t, because)
		index := w.put(t, version, one)
		r := w.promote(t, approval.PromoteOptions{Force: true})
		if r.Status != publish.Unchanged || r.Record == nil || w.at(t, denied) != "" || w.at(t, version) != index {
			t.Errorf("got %+v", r)
		}
	})
}

// TestDenyLater checks a run that finds no denial and writes its tag after the denial
// is recorded. Deny deletes this tag.
func TestDenyLater(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, registrytest.Options{})
	w.put(t, waiting, one)
	w.registry.Misbehave(registrytest.ManifestPut, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(rw, r)
		if strings.HasSuffix(r.URL.Path, "/"+denied) {
			w.put(t, version, both)
		}
	}, -1)
	if r := w.deny(t, because); r.Status != publish.Denied || w.at(t, version) != "" || w.at(t, waiting) != "" {
		t.Errorf("got %+v", r)
	}
}

// TestDenyTakesRecord checks that the denial is pushed again to registries that delete referrers
// together with a manifest.
func TestDenyTakesRecord(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, registrytest.Options{})
	w.put(t, version, one)
	w.registry.Misbehave(registrytest.ManifestDelete, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		w.registry.Delete(t, repositoryName, denied)
		honest(rw, r)
	}, 1)
	if r := w.deny(t, because); r.Status != publish.Denied || w.at(t, version) != "" || w.at(t, denied) == "" {
		t.Errorf("got %+v", r)
	}
}

// TestDenyRefused checks the errors of Deny.
func TestDenyRefused(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		deny := func(o approval.DenyOptions) error {
			_, err := approval.Deny(t.Context(), w.repo, w.address, w.version, o)
			return err
		}
		if err := deny(because); !errors.Is(err, provider.ErrVersionNotFound) {
			t.Errorf("nothing: %v", err)
		}
		w.put(t, waiting, one)
		if err := deny(approval.DenyOptions{}); err == nil || w.at(t, denied) != "" {
			t.Errorf("without a reason: %v", err)
		}
		w.address = nouns.Address(t, "acme/other")
		if err := deny(because); !isForeign(err) {
			t.Errorf("another provider's: %v", err)
		}
	})
}

// TestList checks entries of pending, denied, and promoted versions.
func TestList(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, registrytest.Options{NoDelete: http.StatusMethodNotAllowed})
	at := func(text string) *world {
		other := *w
		other.version = nouns.Version(t, text)
		return &other
	}
	at("1.0.0").put(t, "pending-1.0.0", both)
	at("1.1.0").put(t, "pending-1.1.0", one)
	at("1.1.0").promote(t, approval.PromoteOptions{})
	at("1.2.0").put(t, "pending-1.2.0", one)
	at("1.2.0").deny(t, because)
	at("2.0.0-rc1").put(t, "pending-2.0.0-rc1", one)
	at("0.9.0").put(t, "0.9.0", one)
	entries, err := approval.List(t.Context(), w.repo)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		version, state, tag, reason string
		platforms                   int
	}
	var got []line
	for _, e := range entries {
		l := line{version: e.Version.String(), state: string(e.State), tag: e.Tag, platforms: len(e.Platforms)}
		if e.Record != nil {
			l.reason = e.Record.String()
		}
		if e.Digest != w.at(t, e.Tag) {
			t.Errorf("%s is not at %s", e.Tag, e.Digest)
		}
		got = append(got, l)
	}
	want := []line{
		{"2.0.0-rc1", "pending", "pending-2.0.0-rc1", "", 1},
		{"1.2.0", "denied", "denied-1.2.0", "it phones home (jane)", 1},
		{"1.1.0", "promoted", "pending-1.1.0", "", 1},
		{"1.0.0", "pending", "pending-1.0.0", "", 2},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" {
		t.Error(diff)
	}
	if _, err := approval.List(t.Context(), newRegistry(t, registrytest.Options{}).repo); !errors.Is(err, repository.ErrNoRepository) {
		t.Errorf("of nothing: %v", err)
	}
}

// TestDenyWithFaults checks that a failure to record a denial doesn't prevent the denial,
// and is never an error after the version's tag was deleted. Denying the version again adds
// the record. All requests of a kind fail, starting with any of them.
func TestDenyWithFaults(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]registrytest.Options{"API": {}, "no API": {NoReferrers: http.StatusNotFound}, "deletes manifests": {DeletesManifests: true}} {
		for _, kind := range []registrytest.Kind{registrytest.ManifestGet, registrytest.ManifestPut, registrytest.UploadPost, registrytest.Referrers} {
			t.Run(name+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				recorded := false
				for n := 0; !recorded && n < 50; n++ {
					w := newRegistry(t, o)
					index := w.put(t, version, one)
					w.registry.Misbehave(kind, registrytest.After(n, registrytest.Refuse(http.StatusInternalServerError, "UNKNOWN", "a fault")), -1)
					r, err := approval.Deny(t.Context(), w.repo, w.address, w.version, because)
					w.registry.Behave()
					deleted := w.at(t, version) == ""
					if deleted != (err == nil) || deleted && w.at(t, denied) == "" && r.RecordError == nil {
						t.Fatalf("%d: the tag was deleted: %t, %+v, %v", n, deleted, r, err)
					}
					if recorded = err == nil && r.RecordError == nil; recorded || !deleted || w.at(t, denied) == "" {
						continue
					}
					if again := w.deny(t, because); again.Status != publish.Unchanged || again.RecordError != nil {
						t.Errorf("%d: again: %+v", n, again)
					}
					if records, err := repository.Decisions(t.Context(), w.repo, index); err != nil || len(records) != 1 {
						t.Errorf("%d: got %v, %v", n, records, err)
					}
				}
				if !recorded {
					t.Error("the denial was never recorded")
				}
			})
		}
	}
}
