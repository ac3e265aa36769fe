package artifact_test

import (
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// TestPackDates checks that the date of the release takes precedence over the annotation, and that
// implausible dates are omitted.
func TestPackDates(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		published  time.Time
		annotation string
		want       string
	}{
		"none":                      {},
		"one":                       {published: day, want: "2026-03-04T00:00:00Z"},
		"requested annotation":      {annotation: "2020-01-01T00:00:00Z", want: "2020-01-01T00:00:00Z"},
		"the release's comes first": {published: day, annotation: "2020-01-01T00:00:00Z", want: "2026-03-04T00:00:00Z"},
		"too old":                   {published: time.Unix(0, 0)},
		"too new":                   {published: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, o := rocket(t), artifact.Options{}
			r.Published = test.published
			if test.annotation != "" {
				o.Annotations = map[string]string{ocispec.AnnotationCreated: test.annotation}
			}
			packed, err := artifact.Pack(r, o)
			if err != nil {
				t.Fatal(err)
			}
			index, err := artifact.ParseIndex(packed.Index.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			if got := index.Annotations[ocispec.AnnotationCreated]; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if got := index.Published(); got.IsZero() != (test.want == "") {
				t.Errorf("read back: %s", got)
			}
		})
	}
}

func TestIndexPublishedByOthers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		"2026-03-04T05:06:07+02:00": time.Date(2026, 3, 4, 3, 6, 7, 0, time.UTC),
		"yesterday":                 {},
		"1970-01-01T00:00:00Z":      {},
		"":                          {},
	} {
		if got := (artifact.Index{Annotations: map[string]string{ocispec.AnnotationCreated: text}}).Published(); got != want {
			t.Errorf("%q: got %s", text, got)
		}
	}
}
