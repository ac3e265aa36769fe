package provider_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestParsePlatform(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]provider.Platform{
		"linux_amd64": {OS: "linux", Arch: "amd64"},
		"plan9_386":   {OS: "plan9", Arch: "386"},
	} {
		got, err := provider.ParsePlatform(input)
		if err != nil || got != want || got.String() != input {
			t.Errorf("%s: got %v, %v", input, got, err)
		}
	}
}

func TestParsePlatformRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, input string
		offset      int
		problem     string
	}{
		{"nothing", "", 0, "must be OS_ARCH"},
		{"one word", "linux", 5, "must be OS_ARCH"},
		{"three words", "linux_amd64_v3", 11, "in lower-case letters and digits"},
		{"a slash", "linux/amd64", 11, "must be OS_ARCH"},
		{"no system", "_amd64", 0, "must contain both"},
		{"no architecture", "linux_", 0, "must contain both"},
		{"upper case", "linux_AMD64", 6, "in lower-case letters and digits"},
		{"a letter beyond ASCII", "línux_amd64", 1, "in lower-case letters and digits"},
		{"a space", "linux_amd64 ", 11, "in lower-case letters and digits"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := provider.ParsePlatform(test.input)
			checkSyntaxError(t, err, "platform", test.input, test.offset, test.problem)
			if got != (provider.Platform{}) {
				t.Errorf("got platform %v with an error", got)
			}
		})
	}
}

func TestCurrentPlatformParses(t *testing.T) {
	t.Parallel()
	current := provider.CurrentPlatform()
	if got, err := provider.ParsePlatform(current.String()); err != nil || got != current {
		t.Errorf("got %v, %v, want %v", got, err, current)
	}
}

func TestSortPlatforms(t *testing.T) {
	t.Parallel()
	given := parse(t, provider.ParsePlatform, []string{"linux_arm64", "darwin_arm64", "linux_amd64", "linux_arm64"})
	before := parse(t, provider.ParsePlatform, []string{"linux_arm64", "darwin_arm64", "linux_amd64", "linux_arm64"})
	want := parse(t, provider.ParsePlatform, []string{"darwin_arm64", "linux_amd64", "linux_arm64"})
	if diff := cmp.Diff(want, provider.SortPlatforms(given)); diff != "" {
		t.Errorf("wrong order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, given); diff != "" {
		t.Errorf("the argument changed (-want +got):\n%s", diff)
	}
}
