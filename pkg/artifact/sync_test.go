package artifact_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

var syncDay = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func TestPrunedTag(t *testing.T) {
	t.Parallel()
	v := nouns.Version(t, "1.2.3-rc1+build")
	tag := artifact.PrunedTag(v)
	if again, ok := artifact.ParsePruned(tag); tag != "pruned-1.2.3-rc1_build" || !ok || again != v {
		t.Errorf("the tag %q reads as %v, %t", tag, again, ok)
	}
	for _, tag := range []string{tag, artifact.SyncTag} {
		if v, ok := artifact.ParseTag(tag); ok {
			t.Errorf("OpenTofu would parse %s as the version %s", tag, v)
		}
	}
	for _, other := range []string{"", "pruned-", "1.2.3", "pruned-1.2", "pruned-pruned-1.2.3", "pending-1.2.3", artifact.SyncTag} {
		if v, ok := artifact.ParsePruned(other); ok || v != (provider.Version{}) {
			t.Errorf("%q: got %v, %t", other, v, ok)
		}
	}
}

func TestTagsNewest(t *testing.T) {
	t.Parallel()
	for want, tags := range map[string]artifact.Tags{
		"[2.0.0] 1.2.3":              {"2.0.0", "pending-3.0.0", "pruned-4.0.0"},
		"[3.0.0] pending-1.2.3":      {"pending-3.0.0", "pruned-4.0.0"},
		"[4.0.0 1.0.0] pruned-1.2.3": {"pruned-1.0.0", "pruned-4.0.0", artifact.SyncTag},
		"[] pruned-1.2.3":            {"denied-1.0.0", artifact.SyncTag},
	} {
		versions, tag := tags.Newest()
		if got := fmt.Sprintf("%v %s", versions, tag(nouns.Version(t, "1.2.3"))); got != want {
			t.Errorf("%v: got %s, want %s", tags, got, want)
		}
	}
}

// TestSyncRecord checks that records survive a round trip, and that equal records have
// identical bytes.
func TestSyncRecord(t *testing.T) {
	t.Parallel()
	a, b := nouns.Version(t, "1.2.3"), nouns.Version(t, "1.2.3-rc1+build")
	for name, want := range map[string]artifact.SyncRecord{
		"empty": {Unwanted: map[provider.Version]time.Time{}, Pruned: map[provider.Version]time.Time{}},
		"full": {
			Unwanted: map[provider.Version]time.Time{a: syncDay, b: syncDay.Add(time.Second)},
			Pruned:   map[provider.Version]time.Time{a: syncDay.Add(time.Hour)},
		},
	} {
		packed, config, err := want.Pack()
		if err != nil || string(config.Bytes) != "{}" || packed.Descriptor.ArtifactType != "application/json" {
			t.Fatalf("%s: %+v, %v", name, packed.Descriptor, err)
		}
		if again, _, _ := want.Pack(); string(again.Bytes) != string(packed.Bytes) || digest.FromBytes(packed.Bytes) != packed.Descriptor.Digest {
			t.Errorf("%s: other bytes: %s", name, again.Bytes)
		}
		got, err := artifact.ParseSyncRecord(packed.Bytes)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || !got.Equal(want) {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	local := artifact.SyncRecord{Pruned: map[provider.Version]time.Time{a: syncDay.In(time.FixedZone("", 3600))}}
	packed, _, err := local.Pack()
	if err != nil || !strings.Contains(string(packed.Bytes), `"io.github.tofu-oci.pruned.1.2.3":"2026-03-04T05:06:07Z"`) {
		t.Errorf("%s, %v", packed.Bytes, err)
	}
}

// TestParseSyncRecord checks that invalid entries are ignored, and that other content is rejected.
func TestParseSyncRecord(t *testing.T) {
	t.Parallel()
	const earlier = "application/vnd.io.github.tofu-oci.sync.v1+json"
	manifest := func(artifactType string, annotations map[string]string) []byte {
		data, err := json.Marshal(ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, ArtifactType: artifactType, Annotations: annotations})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	got, err := artifact.ParseSyncRecord(manifest(earlier, map[string]string{
		"io.github.tofu-oci.unwanted.1.2.3":  "2026-03-04T06:06:07+01:00",
		"io.github.tofu-oci.unwanted.1.2":    "2026-03-04T05:06:07Z",
		"io.github.tofu-oci.unwanted.latest": "2026-03-04T05:06:07Z",
		"io.github.tofu-oci.pruned.1.2.3":    "yesterday",
		"io.github.tofu-oci.pruned.2.0.0":    "0001-01-01T00:00:00Z",
		"com.example.unwanted.3.0.0":         "2026-03-04T05:06:07Z",
	}))
	want := artifact.SyncRecord{Unwanted: map[provider.Version]time.Time{nouns.Version(t, "1.2.3"): syncDay}}
	if err != nil || !got.Equal(want) {
		t.Errorf("got %+v, %v", got, err)
	}
	many := map[string]string{}
	for i := range 4097 {
		many[fmt.Sprintf("io.github.tofu-oci.pruned.1.0.%d", i)] = "2026-03-04T05:06:07Z"
	}
	for name, data := range map[string][]byte{
		"nothing": nil, "a denial": manifest("application/vnd.io.github.tofu-oci.decision.v1+json", nil), "an index": []byte(`{"mediaType":"` + ocispec.MediaTypeImageIndex + `"}`),
		"too many": manifest(earlier, many), "too large": []byte(strings.Repeat(" ", artifact.MaxManifestSize+1)),
	} {
		r, err := artifact.ParseSyncRecord(data)
		if _, ok := errors.AsType[*artifact.FormatError](err); !ok {
			t.Errorf("%s: got %v, %v", name, r, err)
		}
	}
	dates := map[provider.Version]time.Time{}
	for i := range 4097 {
		dates[nouns.Version(t, fmt.Sprintf("1.0.%d", i))] = syncDay
	}
	if _, _, err := (artifact.SyncRecord{Unwanted: dates}).Pack(); err == nil {
		t.Error("a record that can't be read again was packed")
	}
}
