package repository_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

var syncDay = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func (e *end) record(t *testing.T) artifact.SyncRecord {
	t.Helper()
	r, err := repository.ReadSyncRecord(t.Context(), e.open(t))
	if err != nil || r.Unwanted == nil || r.Pruned == nil {
		t.Fatalf("got %+v, %v", r, err)
	}
	return r
}

func (e *end) writeRecord(t *testing.T, repo repository.Repository, edit func(*artifact.SyncRecord)) {
	t.Helper()
	if err := repository.WriteSyncRecord(t.Context(), repo, edit); err != nil {
		t.Fatal(err)
	}
}

// TestSyncRecord checks that a record is written only if it changes, and that it is
// merged with changes by another run.
func TestSyncRecord(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, _, e *end) {
		a, b := nouns.Version(t, "1.0.0"), nouns.Version(t, "1.1.0")
		unwanted := func(v provider.Version) func(*artifact.SyncRecord) {
			return func(r *artifact.SyncRecord) { r.Unwanted[v] = syncDay }
		}
		e.record(t)
		before := e.state(t)
		if e.writeRecord(t, e.open(t), func(*artifact.SyncRecord) {}); e.state(t) != before {
			t.Error("an empty record was written")
		}
		e.writeRecord(t, e.open(t), unwanted(a))
		before = e.state(t)
		if e.writeRecord(t, e.open(t), unwanted(a)); e.state(t) != before {
			t.Error("the same record was written again")
		}
		// Another run changes the record after it was read and before it is written.
		edits := 0
		e.writeRecord(t, e.open(t), func(r *artifact.SyncRecord) {
			if edits++; edits == 1 {
				e.writeRecord(t, e.open(t), unwanted(b))
			}
			delete(r.Unwanted, a)
			r.Pruned[a] = syncDay
		})
		want := artifact.SyncRecord{Unwanted: map[provider.Version]time.Time{b: syncDay}, Pruned: map[provider.Version]time.Time{a: syncDay}}
		if got := e.record(t); !got.Equal(want) || edits != 2 {
			t.Errorf("got %+v after %d edits", got, edits)
		}
		tags, err := e.open(t).Tags(t.Context())
		if versions := artifact.Tags(tags).Tagged(); len(tags) != 1 || len(versions) != 0 || err != nil {
			t.Errorf("the tags are %v, %v", tags, err)
		}
	})
}

// TestSyncRecordDamaged checks that a damaged record is empty and can be replaced.
func TestSyncRecordDamaged(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, _, e *end) {
		v := nouns.Version(t, tag)
		pushTag(t, e.open(t), index(t, "another artifact"), artifact.SyncTag, "")
		if r := e.record(t); len(r.Unwanted)+len(r.Pruned) != 0 {
			t.Errorf("got %+v", r)
		}
		e.writeRecord(t, e.open(t), func(r *artifact.SyncRecord) { r.Pruned[v] = syncDay })
		if r := e.record(t); !r.Pruned[v].Equal(syncDay) {
			t.Errorf("got %+v", r)
		}
		if e.registry != nil {
			e.registry.Misbehave(registrytest.ManifestGet, origintest.Status(http.StatusForbidden), -1)
			if r, err := repository.ReadSyncRecord(t.Context(), e.open(t)); err == nil {
				t.Errorf("got %+v", r)
			}
		}
	})
}
