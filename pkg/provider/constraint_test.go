package provider_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestConstraintAllows(t *testing.T) {
	t.Parallel()
	all := []string{"1.0.0", "1.2.0-beta1", "1.2.0", "1.2.1", "1.10.0", "2.0.0-rc1", "2.0.0-rc2", "2.0.0", "2.0.0+meta"}
	for _, test := range []struct {
		input, text string
		allowed     []string
	}{
		{"1.2.0", "1.2.0", []string{"1.2.0"}},
		{"= 1.2.0", "= 1.2.0", []string{"1.2.0"}},
		{"1.2", "1.2", []string{"1.2.0"}},
		{"~> 1.2.0", "~> 1.2.0", []string{"1.2.0", "1.2.1"}},
		{"~>1.2", "~>1.2", []string{"1.2.0", "1.2.1", "1.10.0"}},
		{"~> 1", "~> 1", []string{"1.0.0", "1.2.0", "1.2.1", "1.10.0"}},
		{">1.2.0,<2.0.0", ">1.2.0, <2.0.0", []string{"1.2.1", "1.10.0"}},
		{" >= 1.2.0 ,  != 1.2.1 ,<= 2 ", ">= 1.2.0, != 1.2.1, <= 2", []string{"1.2.0", "1.10.0", "2.0.0", "2.0.0+meta"}},
		{"!= 1.2.1", "!= 1.2.1", []string{"1.0.0", "1.2.0", "1.10.0", "2.0.0", "2.0.0+meta"}},
		{"> 1.0, < 1.0", "> 1.0, < 1.0", nil},
		// Pre-releases are included only if they are specified exactly.
		{"2.0.0-rc1", "2.0.0-rc1", []string{"2.0.0-rc1"}},
		{">= 2.0.0-rc1", ">= 2.0.0-rc1", []string{"2.0.0", "2.0.0+meta"}},
		{"~> 1.2.0-beta1", "~> 1.2.0-beta1", []string{"1.2.0", "1.2.1"}},
		{"!= 2.0.0-rc1, > 1.10", "!= 2.0.0-rc1, > 1.10", []string{"2.0.0", "2.0.0+meta"}},
		{"2.0.0+meta", "2.0.0+meta", []string{"2.0.0+meta"}},
	} {
		t.Run(test.input, func(t *testing.T) {
			t.Parallel()
			c, err := provider.ParseConstraint(test.input)
			if err != nil {
				t.Fatal(err)
			}
			if c.IsZero() {
				t.Error("got the zero value")
			}
			if c.String() != test.text {
				t.Errorf("String: got %q, want %q", c, test.text)
			}
			var allowed []string
			for _, v := range versions(t, all...) {
				if c.Allows(v) {
					allowed = append(allowed, v.String())
				}
			}
			if diff := cmp.Diff(test.allowed, allowed); diff != "" {
				t.Errorf("wrong versions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConstraintZeroValueAllowsReleasesOnly(t *testing.T) {
	t.Parallel()
	var c provider.Constraint
	vs := versions(t, "1.0.0", "1.0.0+meta", "1.0.0-beta1")
	if got := []bool{c.Allows(vs[0]), c.Allows(vs[1]), c.Allows(vs[2])}; !cmp.Equal(got, []bool{true, true, false}) {
		t.Errorf("got %v", got)
	}
	if c.Allows(provider.Version{}) {
		t.Error("0.0.0 is a release")
	}
	if !c.IsZero() || c.String() != "" {
		t.Errorf("got %t, %q", c.IsZero(), c)
	}
}

// TestConstraintAllowsNoZero checks that 0.0.0 must be specified exactly.
func TestConstraintAllowsNoZero(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]bool{"0.0.0": true, "= 0.0.0": true, "< 1.0.0": false, ">= 0.0.0": false, "~> 0.0.0": false, "!= 1.0.0": false} {
		c, err := provider.ParseConstraint(input)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Allows(provider.Version{}); got != want {
			t.Errorf("%s: got %t", input, got)
		}
	}
}

func TestConstraintExact(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"5.64.0":         "5.64.0",
		"= 5.64.0":       "5.64.0",
		"=5.64.0":        "5.64.0",
		"5.64.0-rc1+m":   "5.64.0-rc1+m",
		"5.64":           "",
		"~> 5.64.0":      "",
		">= 5.64.0":      "",
		"5.64.0, 5.64.0": "",
	} {
		c, err := provider.ParseConstraint(input)
		if err != nil {
			t.Fatal(err)
		}
		v, exact := c.Exact()
		if exact != (want != "") || exact && v.String() != want {
			t.Errorf("%s: got %s, %t, want %q", input, v, exact, want)
		}
	}
	if v, exact := (provider.Constraint{}).Exact(); exact {
		t.Errorf("the zero value: got %s", v)
	}
}

func TestParseConstraintErrorOffset(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, input string
		offset      int
		problem     string
	}{
		{"nothing", "", 0, "a constraint is empty"},
		{"a comma at the end", "> 1.0,", 6, "a constraint is empty"},
		{"two commas", "> 1.0, , < 2", 6, "a constraint is empty"},
		{"a leading v", ">= 1.0, < v2.0", 8, "a version must not start with v; use 2.0"},
		{"an invalid operator", "~> 5.0,   => 5.1", 10, `did you mean ">="?`},
		{"npm's operator", "^1.0", 0, `invalid constraint operator "^"`},
		{"a wildcard", "> 1.0, 1.x", 7, "wildcards are not supported; to match all 1.x versions, use ~> 1.0"},
		{"a missing comma", "> 1.0 < 2.0", 0, `missing comma after "> 1.0"`},
		{"four numbers", "!= 1.2.3.4", 0, "too many numbered portions"},
		{"only an operator", "> 1.0, !=", 7, `after the operator "!="`},
		{"a word", "~> 5.0, bad", 8, "must be a version or a comparison"},
		{"a number of more than 64 bits", ">= 1.0, < 99999999999999999999", 10, "the number is too large"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := provider.ParseConstraint(test.input)
			checkSyntaxError(t, err, "version constraint", test.input, test.offset, test.problem)
			if !got.IsZero() {
				t.Errorf("got constraint %v with an error", got)
			}
		})
	}
}
