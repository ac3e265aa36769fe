package provider_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// roundTrips checks that parsing the text of a parsed value returns the same value.
func roundTrips[T interface {
	comparable
	fmt.Stringer
}](t *testing.T, parse func(string) (T, error), input string,
) (value T, ok bool) {
	t.Helper()
	value, err := parse(input)
	if err != nil {
		if value != *new(T) {
			t.Fatalf("%q: got a value with the error %v", input, err)
		}
		return value, false
	}
	again, err := parse(value.String())
	if err != nil {
		t.Fatalf("%q: parsing %q again: %v", input, value, err)
	}
	if again != value {
		t.Fatalf("%q: parsing %q again: got %#v, want %#v", input, value, again, value)
	}
	return value, true
}

func FuzzParseAddress(f *testing.F) {
	f.Fuzz(func(t *testing.T, input string) {
		if a, ok := roundTrips(t, provider.ParseAddress, input); ok {
			if pattern, err := provider.ParsePattern(a.String()); err != nil || !pattern.Match(a) {
				t.Fatalf("%q: %q does not match itself as a pattern: %v", input, a, err)
			}
		}
	})
}

func FuzzParsePattern(f *testing.F) {
	f.Fuzz(func(t *testing.T, input string) { roundTrips(t, provider.ParsePattern, input) })
}

func FuzzParseAlias(f *testing.F) {
	f.Fuzz(func(t *testing.T, input string) { roundTrips(t, provider.ParseAlias, input) })
}

// FuzzCheckConventional checks that a conventional name is safe on every system and is
// not the name of a different package.
func FuzzCheckConventional(f *testing.F) {
	f.Fuzz(func(t *testing.T, name string) {
		p := provider.Package{
			Address: addresses(t, "acme/x")[0], Version: versions(t, "1.2.3")[0],
			Platform: provider.Platform{OS: "linux", Arch: "amd64"}, ListedAs: name,
		}
		if p.CheckConventional(name) != nil {
			return
		}
		if err := errors.Join(provider.CheckFilename(name), p.CheckIdentity()); err != nil {
			t.Fatalf("%q is conventional: %v", name, err)
		}
	})
}

func FuzzParsePlatform(f *testing.F) {
	f.Fuzz(func(t *testing.T, input string) { roundTrips(t, provider.ParsePlatform, input) })
}

func FuzzParseVersion(f *testing.F) {
	f.Fuzz(func(t *testing.T, input string) {
		v, ok := roundTrips(t, provider.ParseVersion, input)
		if !ok {
			return
		}
		if again := v; v.Compare(again) != 0 {
			t.Fatalf("%q is not equal to itself", v)
		}
		c, err := provider.ParseConstraint(v.String())
		if err != nil {
			t.Fatalf("%q is not a constraint: %v", v, err)
		}
		if exact, ok := c.Exact(); !ok || exact != v {
			t.Fatalf("%q does not mean itself: %v", v, exact)
		}
	})
}

func FuzzParseConstraint(f *testing.F) {
	f.Fuzz(func(t *testing.T, input, version string) {
		c, err := provider.ParseConstraint(input)
		if err != nil {
			return
		}
		again, err := provider.ParseConstraint(c.String())
		if err != nil || again.String() != c.String() {
			t.Fatalf("%q: parsing %q again: got %q, %v", input, c, again, err)
		}
		v, err := provider.ParseVersion(version)
		if err != nil {
			return
		}
		if c.Allows(v) != again.Allows(v) {
			t.Fatalf("%q and %q disagree about %s", input, c, v)
		}
		if exact, ok := c.Exact(); ok && c.Allows(v) && exact != v {
			t.Fatalf("%q means exactly %s and allows %s", c, exact, v)
		}
	})
}

func FuzzParseRequirement(f *testing.F) {
	f.Fuzz(func(t *testing.T, input string) {
		r, err := provider.ParseRequirement(input)
		if err != nil {
			return
		}
		again, err := provider.ParseRequirement(r.String())
		if err != nil || again.Address != r.Address || again.String() != r.String() {
			t.Fatalf("%q: parsing %q again: got %q, %v", input, r, again, err)
		}
	})
}
