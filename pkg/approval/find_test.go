package approval_test

import (
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// TestFind checks that pending versions take precedence over denied versions, and that
// only matching versions are found.
func TestFind(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		w.put(t, waiting, one)
		w.find(t, "", publish.Pending)
		w.find(t, "~> 1.2.0", publish.Pending)
		w.find(t, "> 1.2.3", "")
		w.deny(t, because)
		w.find(t, "1.2.3", publish.Denied)
		w.find(t, "> 1.2.3", "")
		w.put(t, waiting, both)
		w.find(t, "", publish.Denied) // a version that was staged with Force is still denied
	})
}

// find checks the state of the version that meets a constraint. An empty want means
// that no version is expected.
func (w *world) find(t *testing.T, constraint string, want publish.Status) {
	t.Helper()
	r := provider.Requirement{Address: w.address}
	if constraint != "" {
		var err error
		if r.Constraint, err = provider.ParseConstraint(constraint); err != nil {
			t.Fatal(err)
		}
	}
	e, err := approval.Find(t.Context(), w.repo, r)
	if err != nil || e.State != want || (e.Record != nil) != (want == publish.Denied) {
		t.Errorf("%q: %+v, %v", constraint, e, err)
	}
}
