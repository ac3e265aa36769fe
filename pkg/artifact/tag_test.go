package artifact_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestTag(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"1.2.3":               "1.2.3",
		"1.2.3-beta.1":        "1.2.3-beta.1",
		"1.2.3+meta":          "1.2.3_meta",
		"1.2.3-beta1+build.5": "1.2.3-beta1_build.5",
		"1.2":                 "1.2.0",
	} {
		v, err := provider.ParseVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		if got := artifact.Tag(v); got != want {
			t.Errorf("%s: got %q, want %q", version, got, want)
		}
		if again, ok := artifact.ParseTag(want); !ok || again != v {
			t.Errorf("%s: its tag reads as %v, %t", version, again, ok)
		}
	}
}

func TestParseTagRoundTrip(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{
		"", "latest", "v1.2.3", "1.2", "5", "01.2.3", "1.2.3-", "1.2.3_", "1.2.3+meta", "1.2.3_a_b", "1.2_a", "1.2.3.4", "1.x",
		"sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"99999999999999999999.0.0",
	} {
		if v, ok := artifact.ParseTag(tag); ok || v != (provider.Version{}) {
			t.Errorf("%q: got %v, %t", tag, v, ok)
		}
	}
}

// OpenTofu parses the suffix in the same way, so platforms must not have tags.
func TestParseTagWithPlatform(t *testing.T) {
	t.Parallel()
	v, ok := artifact.ParseTag("1.2.3-linux_amd64")
	if !ok || v.String() != "1.2.3-linux+amd64" || !v.Prerelease() {
		t.Errorf("got %v, %t", v, ok)
	}
}

func TestTagsReleased(t *testing.T) {
	t.Parallel()
	var got []string
	for _, v := range (artifact.Tags{"1.2.0", "latest", "v1.3.0", "1.10.0_meta", "1.2", "1.2.0", "2.0.0-rc1"}.Released()) {
		got = append(got, v.String())
	}
	if diff := cmp.Diff([]string{"2.0.0-rc1", "1.10.0+meta", "1.2.0"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestTagsLists checks that a denial's tag hides only the denied version.
func TestTagsLists(t *testing.T) {
	t.Parallel()
	tags := []string{"1.0.0", "1.1.0", "1.1.0_meta", "denied-1.1.0", "denied-2.0.0", "denied-latest", "pending-1.2.0"}
	for name, test := range map[string]struct {
		list func(artifact.Tags) []provider.Version
		want string
	}{
		"released": {artifact.Tags.Released, "[1.1.0+meta 1.0.0]"},
		"tagged":   {artifact.Tags.Tagged, "[1.1.0+meta 1.1.0 1.0.0]"},
		"denied":   {artifact.Tags.Denied, "[2.0.0 1.1.0]"},
	} {
		if got := fmt.Sprint(test.list(tags)); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

func TestPendingTag(t *testing.T) {
	t.Parallel()
	v, err := provider.ParseVersion("1.2.3-rc1+build")
	if err != nil {
		t.Fatal(err)
	}
	tag := artifact.PendingTag(v)
	if tag != "pending-1.2.3-rc1_build" {
		t.Errorf("got %q", tag)
	}
	if again, ok := artifact.ParsePending(tag); !ok || again != v {
		t.Errorf("its tag reads as %v, %t", again, ok)
	}
	if v, ok := artifact.ParseTag(tag); ok {
		t.Errorf("OpenTofu would parse %s as the version %s", tag, v)
	}
	for _, other := range []string{"", "pending-", "pending", "1.2.3", "pending-1.2", "pending-latest", "pending-pending-1.2.3", "denied-1.2.3", "Pending-1.2.3"} {
		if v, ok := artifact.ParsePending(other); ok || v != (provider.Version{}) {
			t.Errorf("%q: got %v, %t", other, v, ok)
		}
	}
}
