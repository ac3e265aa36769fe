package provider_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestParseRequirement(t *testing.T) {
	t.Parallel()
	for input, text := range map[string]string{
		"hashicorp/aws":                    "registry.opentofu.org/hashicorp/aws",
		"hashicorp/aws@5.64.0":             "registry.opentofu.org/hashicorp/aws@5.64.0",
		"hashicorp/aws@~> 5.0,!= 5.10.0":   "registry.opentofu.org/hashicorp/aws@~> 5.0, != 5.10.0",
		"BÜCHER.example:8443/a/b@ >= 1.0 ": "bücher.example:8443/a/b@>= 1.0",
	} {
		r, err := provider.ParseRequirement(input)
		if err != nil {
			t.Errorf("%s: %v", input, err)
			continue
		}
		if r.String() != text {
			t.Errorf("%s: got %q, want %q", input, r, text)
		}
		if again, err := provider.ParseRequirement(r.String()); err != nil || again.String() != text || again.Address != r.Address {
			t.Errorf("%s: String does not round-trip: %v, %v", input, again, err)
		}
	}
}

func TestParseRequirementErrorOffset(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, input string
		what        string
		offset      int
		problem     string
	}{
		{"the address", "hashicorp/a_ws@5.0", "provider address", 10, "the type is not valid"},
		{"the constraint", "bücher.example/a/b@~> 5.0, bad", "version constraint", len("bücher.example/a/b@~> 5.0, "), "must be a version or a comparison"},
		{"an empty constraint", "hashicorp/aws@", "version constraint", 14, "a constraint is empty"},
		{"an empty address", "@5.0", "provider address", 0, "must be NAMESPACE/TYPE"},
		{"a second constraint", "hashicorp/aws@5.0@6.0", "version constraint", 14, "missing comma"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := provider.ParseRequirement(test.input)
			checkSyntaxError(t, err, test.what, test.input, test.offset, test.problem)
		})
	}
}

func TestRequirementSelect(t *testing.T) {
	t.Parallel()
	have := []string{"1.0.0", "0.0.0", "3.0.0-beta1", "2.1.0", "2.0.0", "2.1.0"}
	for _, test := range []struct {
		name, requirement string
		n                 int
		want              []string
	}{
		{"the newest release without a constraint", "a/b", 1, []string{"2.1.0"}},
		{"all releases", "a/b", 0, []string{"2.1.0", "2.0.0", "1.0.0"}},
		{"more than exist", "a/b", 9, []string{"2.1.0", "2.0.0", "1.0.0"}},
		{"the newest two that meet it", "a/b@!= 2.1.0", 2, []string{"2.0.0", "1.0.0"}},
		{"0.0.0 that is named", "a/b@0.0.0", 1, []string{"0.0.0"}},
		{"not 0.0.0 otherwise", "a/b@< 1.0.1", 0, []string{"1.0.0"}},
		{"an exact pre-release", "a/b@3.0.0-beta1", 1, []string{"3.0.0-beta1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := parse(t, provider.ParseRequirement, []string{test.requirement})[0]
			got, err := r.Select(versions(t, have...), test.n)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(versions(t, test.want...), got, byEquality); diff != "" {
				t.Errorf("wrong versions (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRequirementPreReleases checks which pre-releases are skipped even though their
// releases would be selected.
func TestRequirementPreReleases(t *testing.T) {
	t.Parallel()
	have := versions(t, "1.0.0-rc1", "1.0.0", "2.0.0-alpha", "2.0.0-beta.2+m", "2.0.0", "0.0.0-dev", "3.0.0-rc1")
	for requirement, want := range map[string][]string{
		"a/b":                   {"3.0.0-rc1", "2.0.0-beta.2+m", "2.0.0-alpha", "1.0.0-rc1"},
		"a/b@~> 2.0":            {"2.0.0-beta.2+m", "2.0.0-alpha"},
		"a/b@= 2.0.0-alpha":     nil,
		"a/b@2.0.0":             nil,
		"a/b@!= 2.0.0":          {"3.0.0-rc1", "1.0.0-rc1"},
		"a/b@>= 1.0.0, < 1.5.0": {"1.0.0-rc1"},
	} {
		r := parse(t, provider.ParseRequirement, []string{requirement})[0]
		if diff := cmp.Diff(versions(t, want...), r.PreReleases(have), byEquality, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: wrong pre-releases (-want +got):\n%s", requirement, diff)
		}
	}
}

func TestRequirementSelectListsVersions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, requirement string
		have              []string
		want              string
	}{
		{
			"nothing", "a/b@~> 5.0", nil,
			`version not found: no version of registry.opentofu.org/a/b meets "~> 5.0"; no versions exist`,
		},
		{
			"a few", "a/b@~> 5.0", []string{"1.0.0", "2.0.0"},
			`version not found: no version of registry.opentofu.org/a/b meets "~> 5.0"; existing versions: 2.0.0, 1.0.0`,
		},
		{
			"many", "a/b@~> 5.0", []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0"},
			`version not found: no version of registry.opentofu.org/a/b meets "~> 5.0"; newest of 6 versions: 1.5.0, 1.4.0, 1.3.0, 1.2.0, 1.1.0`,
		},
		{
			"pre-releases only", "a/b", []string{"1.0.0-rc1"},
			"version not found: registry.opentofu.org/a/b has no release (pre-releases must be specified exactly); existing versions: 1.0.0-rc1",
		},
		{
			"0.0.0 only", "a/b", []string{"0.0.0"},
			"version not found: registry.opentofu.org/a/b has no release (pre-releases must be specified exactly); existing versions: 0.0.0",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := parse(t, provider.ParseRequirement, []string{test.requirement})[0]
			got, err := r.Select(versions(t, test.have...), 1)
			if !errors.Is(err, provider.ErrVersionNotFound) || err.Error() != test.want {
				t.Errorf("got %v, %v\nwant %s", got, err, test.want)
			}
		})
	}
}
