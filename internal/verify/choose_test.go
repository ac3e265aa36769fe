package verify_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/verify"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// tagAs tags the index with a different version.
func (w *world) tagAs(t *testing.T, other string) {
	t.Helper()
	_, x := w.index(t)
	if err := w.repo.PushTag(t.Context(), marshal(t, x.MediaType, x), other, ""); err != nil {
		t.Fatal(err)
	}
}

// requirements parses constraints for the provider of the world.
func requirements(t *testing.T, constraints ...string) []provider.Requirement {
	t.Helper()
	var all []provider.Requirement
	for _, c := range constraints {
		text := "registry.example.org/acme/thing"
		if c != "" {
			text += "@" + c
		}
		r, err := provider.ParseRequirement(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// TestEachOnce checks that a release that several requirements select is checked only
// once, and that findings about tags are reported only once. It also checks that
// pre-releases that are not selected are skipped.
func TestEachOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	for _, other := range []string{"1.0.0", "2.0.0-rc1", "2.0.0-rc2", "v0.1.0"} {
		w.tagAs(t, other)
	}
	m := w.manifest(t)
	w.lose(t, layer(&m, artifact.MediaTypeZip).Digest)
	wanted := requirements(t, "~> 1.0", "", "2.0.0-rc2", "1.2.3")
	report, err := verify.Repository(t.Context(), w.repo, wanted, verify.Options{Template: w.template})
	if err != nil || len(report.Failed) > 0 {
		t.Fatal(report.Failed, err)
	}
	var got []string
	for _, f := range report.Findings {
		if f.Code == "tag-ignored" || f.Code == "blob-missing" {
			got = append(got, f.Code+" "+f.Subject.Version)
		}
	}
	want := []string{"tag-ignored ", "blob-missing 2.0.0-rc2", "blob-missing 1.2.3", "blob-missing 1.0.0"}
	if diff := cmp.Diff(want, got); diff != "" || report.Releases != 3 {
		t.Errorf("%d releases; found (-want +got):\n%s", report.Releases, diff)
	}
	for i, v := range []string{"2.0.0-rc2", "1.2.3", "1.0.0"} {
		c := report.Checked[i]
		if c.Version.String() != v || c.Counts[finding.Error] == 0 || c.Stored.Repository != w.repo.String() || c.Stored.Tag != v || c.Stored.Digest == "" {
			t.Errorf("checked %+v, want %s", c, v)
		}
	}
	if left := report.Skipped; len(left) != 1 || left[0].String() != "2.0.0-rc1" {
		t.Errorf("left out are %v", left)
	}
}

// TestPendingOnly checks the error for a provider that has only pending releases.
func TestPendingOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	for _, other := range []string{"pending-2.0.0", "pending-2.1.0", "denied-2.1.0", "pending-3.0.0"} {
		w.tagAs(t, other)
	}
	report, err := verify.Repository(t.Context(), w.repo, requirements(t, "~> 2.0"), verify.Options{})
	if err != nil || len(report.Failed) != 1 || report.Releases != 0 || len(report.Checked) != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	missing, ok := errors.AsType[*provider.VersionError](report.Failed[0].Err)
	if !ok || len(missing.Pending) != 1 || missing.Pending[0].String() != "2.0.0" {
		t.Errorf("got %v", report.Failed[0].Err)
	}
}
