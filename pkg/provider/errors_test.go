package provider_test

import (
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestSyntaxErrorPointsAtCharactersNotBytes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		err     provider.SyntaxError
		text    string
		pointer string
	}{
		{
			"at the start",
			provider.SyntaxError{What: "platform", Input: "x", Offset: 0, Problem: "is odd"},
			`invalid platform "x": is odd (at character 1)`,
			"x\n^",
		},
		{
			"after letters of two and three bytes",
			provider.SyntaxError{What: "provider address", Input: "bü日/a_b", Offset: len("bü日/"), Problem: "is odd"},
			`invalid provider address "bü日/a_b": is odd (at character 5)`,
			"bü日/a_b\n    ^",
		},
		{
			"behind the end",
			provider.SyntaxError{What: "platform", Input: "ä", Offset: len("ä"), Problem: "is short"},
			`invalid platform "ä": is short (at character 2)`,
			"ä\n ^",
		},
		{
			"an offset out of range is the end",
			provider.SyntaxError{What: "platform", Input: "ab", Offset: 9, Problem: "is odd"},
			`invalid platform "ab": is odd (at character 3)`,
			"ab\n  ^",
		},
		{
			"a negative offset is the start",
			provider.SyntaxError{What: "platform", Input: "ab", Offset: -1, Problem: "is odd"},
			`invalid platform "ab": is odd (at character 1)`,
			"ab\n^",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.err.Error(); got != test.text {
				t.Errorf("Error: got %s, want %s", got, test.text)
			}
			if got := test.err.Pointer(); got != test.pointer {
				t.Errorf("Pointer: got\n%s\nwant\n%s", got, test.pointer)
			}
		})
	}
}

func TestPlatformErrorListsPlatforms(t *testing.T) {
	t.Parallel()
	e := provider.PlatformError{
		Address: addresses(t, "hashicorp/aws")[0], Version: versions(t, "5.71.0")[0], Wanted: provider.Platform{OS: "plan9", Arch: "arm"},
	}
	if got, want := e.Error(), "registry.opentofu.org/hashicorp/aws 5.71.0 has no package for plan9_arm and lists no platforms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e.Have = []provider.Platform{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}
	if got, want := e.Error(), "registry.opentofu.org/hashicorp/aws 5.71.0 has no package for plan9_arm, only for linux_amd64, linux_arm64"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
