package provider_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// byEquality configures cmp to compare values with ==.
var byEquality = cmpopts.EquateComparable(provider.Version{}, provider.Pattern{})

func versions(t *testing.T, texts ...string) []provider.Version {
	t.Helper()
	return parse(t, provider.ParseVersion, texts)
}

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		input, text string
		prerelease  bool
	}{
		{"1.2.3", "1.2.3", false},
		{"5", "5.0.0", false},
		{"1.2", "1.2.0", false},
		{"01.2.3", "1.2.3", false},
		{"1.2.3-beta1", "1.2.3-beta1", true},
		{"1.2-rc.1", "1.2.0-rc.1", true},
		{"1.2.3+build.5", "1.2.3+build.5", false},
		{"1.2.3-beta1+meta", "1.2.3-beta1+meta", true},
		{"1.2.3-linux+amd64", "1.2.3-linux+amd64", true},
		{"999999999999999999.0.0", "999999999999999999.0.0", false},
		// The library treats this suffix as text, even though it looks like a number of
		// more than 64 bits.
		{"1.2.3-20260102030405060708", "1.2.3-20260102030405060708", true},
		{"1.2.3+20260102030405060708", "1.2.3+20260102030405060708", false},
	} {
		t.Run(test.input, func(t *testing.T) {
			t.Parallel()
			v, err := provider.ParseVersion(test.input)
			if err != nil {
				t.Fatal(err)
			}
			if v.String() != test.text {
				t.Errorf("String: got %q, want %q", v, test.text)
			}
			if v.Prerelease() != test.prerelease {
				t.Errorf("Prerelease: got %t", v.Prerelease())
			}
			if again, err := provider.ParseVersion(v.String()); err != nil || again != v {
				t.Errorf("String does not round-trip: %v, %v", again, err)
			}
		})
	}
}

func TestParseVersionRefuses(t *testing.T) {
	t.Parallel()
	long := "1.2.3-" + string(slices.Repeat([]byte("a"), 123))
	for _, test := range []struct {
		name, input string
		offset      int
		problem     string
	}{
		{"nothing", "", 0, "empty specification"},
		{"a leading v", "v1.2.3", 0, `a "v" prefix should not be used`},
		{"a word", "latest", 0, "invalid specification"},
		{"an OCI digest as a tag", "sha256-0123", 0, "invalid specification"},
		{"four numbers", "1.2.3.4", 0, "too many numbered portions"},
		{"a wildcard", "1.2.x", 0, "can't use wildcard for patch number"},
		{"a constraint", ">= 1.2.3", 0, `can't use constraint operator ">="`},
		{"a leading space", " 1.2.3", 0, "extraneous spaces at start"},
		{"a trailing space", "1.2.3 ", 0, "extraneous spaces at end"},
		{"a number of more than 64 bits", "1.99999999999999999999.0", 2, "the number is too large"},
		{"129 characters", long, 128, "is too long"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := provider.ParseVersion(test.input)
			checkSyntaxError(t, err, "version", test.input, test.offset, test.problem)
			if got != (provider.Version{}) {
				t.Errorf("got version %v with an error", got)
			}
		})
	}
}

func TestVersionOrder(t *testing.T) {
	t.Parallel()
	newest := versions(t,
		"10.0.0",
		"2.0.0+b",
		"2.0.0+a",
		"2.0.0",
		// OpenTofu's library orders versions with fewer identifiers first, regardless
		// of the identifiers' values. SemVer orders beta after alpha.1.
		"2.0.0-alpha.10",
		"2.0.0-alpha.9",
		"2.0.0-rc1",
		"2.0.0-beta",
		"2.0.0-7",
		"1.10.0",
		"1.9.0",
		"1.9.0-rc1",
		"0.0.0",
	)
	given := append(slices.Clone(newest[5:]), newest[:7]...)
	before := slices.Clone(given)
	if diff := cmp.Diff(newest, provider.NewestFirst(given), byEquality); diff != "" {
		t.Errorf("wrong order, or not each once (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, given, byEquality); diff != "" {
		t.Errorf("the argument changed (-want +got):\n%s", diff)
	}
	for i, v := range newest {
		for j, w := range newest {
			if got, want := v.Compare(w), sign(j-i); got != want {
				t.Errorf("comparing %s with %s: got %d, want %d", v, w, got, want)
			}
		}
	}
}

func sign(n int) int { return min(max(n, -1), 1) }
