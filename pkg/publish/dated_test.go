package publish_test

import (
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// parseDate parses a date in RFC 3339 format. It returns the zero time for an invalid
// date.
func parseDate(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text)
	return provider.CleanDate(t)
}

// TestPlanDates checks that stored dates are kept unless the release is replaced.
func TestPlanDates(t *testing.T) {
	t.Parallel()
	const stored, fresh = "2025-01-01T00:00:00Z", "2026-02-02T00:00:00Z"
	for _, test := range []struct {
		planCase
		stored, fresh, want string
	}{
		{planCase{name: "a new tag", tag: "[none]", source: "linux=a"}, "", fresh, fresh},
		{planCase{name: "extended", tag: "linux=a", source: "linux=a plan9=b"}, stored, fresh, stored},
		{planCase{name: "extended, without a date so far", tag: "linux=a", source: "linux=a plan9=b"}, "", fresh, fresh},
		{planCase{name: "extended by a source without one", tag: "linux=a", source: "linux=a plan9=b"}, stored, "", stored},
		{planCase{name: "extended, stored date is invalid", tag: "linux=a", source: "linux=a plan9=b"}, "soon", fresh, fresh},
		{planCase{name: "repaired", tag: "linux!=a", source: "linux=a"}, stored, fresh, stored},
		{planCase{name: "repaired, without a date so far", tag: "linux!=a", source: "linux=a"}, "", fresh, ""},
		{planCase{name: "the index is lost", tag: "[index lost]", source: "linux=a"}, "", fresh, fresh},
		{planCase{name: "replaced", tag: "linux=a", source: "linux=c", force: true}, stored, fresh, fresh},
		{planCase{name: "replaced by a source without one", tag: "linux=a", source: "linux=c", force: true}, stored, "", ""},
		{planCase{name: "another provider's, replaced", tag: "[other provider]", source: "linux=a", force: true}, stored, fresh, fresh},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			old, source := test.facts(t), test.sourceRelease(t)
			if old.Index.Annotations == nil {
				old.Index.Annotations = map[string]string{}
			}
			old.Index.Annotations[ocispec.AnnotationCreated] = test.stored
			source.Published = parseDate(test.fresh)
			got, _ := publish.NewPlan(old, source, publish.PolicyForTest{Force: test.force})
			if got.Conflicts != nil {
				t.Fatal(got.Conflicts)
			}
			if want := parseDate(test.want); got.ReleaseForTest().Published != want {
				t.Errorf("the tag is dated %s, not %s", got.ReleaseForTest().Published, want)
			}
		})
	}
}

// TestDates checks that a different date does not cause an update.
func TestDates(t *testing.T) {
	t.Parallel()
	first, second := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC)
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		dated := func() string {
			t.Helper()
			_, data, err := to.open(t).Manifest(t.Context(), "1.2.3")
			if err != nil {
				t.Fatal(err)
			}
			index, err := artifact.ParseIndex(data)
			if err != nil {
				t.Fatal(err)
			}
			return index.Annotations[ocispec.AnnotationCreated]
		}
		offer := func(modified time.Time) {
			r := w.release(all...)
			r.Modified = modified
			w.offer(t, r)
		}
		step := func(want publish.Status, date string, o publish.Options) {
			t.Helper()
			w.publish(t, to, want, o)
			if got := dated(); got != date {
				t.Errorf("%s: the tag is dated %q, not %q", want, got, date)
			}
		}
		// An artifact without a date stays unchanged, even if the origin now has a
		// date.
		step(publish.Created, "", publish.Options{Platforms: all[:1]})
		offer(first)
		step(publish.Unchanged, "", publish.Options{Platforms: all[:1]})
		step(publish.Unchanged, "", publish.Options{Platforms: all[:1], AgainstOrigin: true, Check: repository.DepthContent})
		// The date is added when the index changes for a different reason. Later, it is
		// kept.
		step(publish.Extended, "2025-01-01T00:00:00Z", publish.Options{Platforms: all[:2]})
		offer(second)
		step(publish.Unchanged, "2025-01-01T00:00:00Z", publish.Options{Platforms: all[:2], AgainstOrigin: true})
		step(publish.Extended, "2025-01-01T00:00:00Z", publish.Options{})
		// A replaced release has the date of the new release.
		w.zips[plan9] = zipOf(t, "other bytes")
		offer(second)
		step(publish.Replaced, "2026-02-02T00:00:00Z", publish.Options{Force: true})
		w.zips[plan9] = zipOf(t, "still others")
		offer(time.Time{})
		step(publish.Replaced, "", publish.Options{Force: true})
	})
}
