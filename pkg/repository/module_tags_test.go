package repository_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestForModule checks that a module version can have a tag with or without a "v", and
// that writes keep the tag.
func TestForModule(t *testing.T) {
	t.Parallel()
	eachRepository(t, func(t *testing.T, open func() repository.Repository) {
		one, two, other := index(t, "one"), index(t, "two"), index(t, "other")
		pushTag(t, open(), one, "v1.0.0", "")
		pushTag(t, open(), two, "2.0.0", "")
		pushTag(t, open(), other, "v2.0.0", "")
		pushTag(t, open(), other, "vpc", "")
		m := repository.ForModule(open())
		tags, err := m.Tags(t.Context())
		slices.Sort(tags)
		if want := []string{"1.0.0", "2.0.0", "vpc"}; err != nil || !slices.Equal(tags, want) {
			t.Errorf("got tags %v, %v, want %v", tags, err, want)
		}
		for tag, want := range map[string]string{"1.0.0": string(one.Bytes), "2.0.0": string(two.Bytes), "v2.0.0": string(other.Bytes)} {
			if _, data, err := m.Manifest(t.Context(), tag); err != nil || string(data) != want {
				t.Errorf("%s: got %s, %v", tag, data, err)
			}
		}
		if _, _, err := m.Manifest(t.Context(), "3.0.0"); !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		pushTag(t, m, other, "1.0.0", one.Descriptor.Digest)
		pushTag(t, m, other, "3.0.0", "")
		if err := m.Capabilities().DeleteTag(t.Context(), "1.0.0", other.Descriptor.Digest); err != nil {
			t.Error(err)
		}
		tags, err = open().Tags(t.Context())
		slices.Sort(tags)
		if want := []string{"2.0.0", "3.0.0", "v2.0.0", "vpc"}; err != nil || !slices.Equal(tags, want) {
			t.Errorf("got tags %v, %v, want %v", tags, err, want)
		}
	})
}

// TestForModuleCopy checks that the target gets the tag of the source, unless it has the
// version already.
func TestForModuleCopy(t *testing.T) {
	t.Parallel()
	eachRepository(t, func(t *testing.T, open func() repository.Repository) {
		one, two := index(t, "one"), index(t, "two")
		from := repository.NewLayout(t.TempDir())
		pushTag(t, from, one, "v1.0.0", "")
		pushTag(t, from, two, "v2.0.0", "")
		pushTag(t, open(), one, "2.0.0", "")
		for version, want := range map[string]string{"1.0.0": "v1.0.0", "2.0.0": "v2.0.0"} {
			_, to, tag := repository.ForModuleCopy(t.Context(), from, open(), nouns.Version(t, version))
			if tag != want {
				t.Errorf("got the tag %s, want %s", tag, want)
			}
			if version == "1.0.0" {
				pushTag(t, to, one, version, "")
			} else {
				pushTag(t, to, two, version, one.Descriptor.Digest)
			}
		}
		tags, err := open().Tags(t.Context())
		slices.Sort(tags)
		if want := []string{"2.0.0", "v1.0.0"}; err != nil || !slices.Equal(tags, want) {
			t.Errorf("got tags %v, %v, want %v", tags, err, want)
		}
	})
}
