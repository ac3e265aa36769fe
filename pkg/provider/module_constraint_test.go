package provider_test

import (
	"errors"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestModuleConstraints checks rules that differ from the constraints of providers.
func TestModuleConstraints(t *testing.T) {
	t.Parallel()
	for constraint, versions := range map[string]map[string]bool{
		"":                      {"1.0.0": true, "0.0.0": true, "1.0.0-beta1": false, "1.0.0+a": true},
		"~> 1":                  {"0.9.0": false, "1.2.0": true, "2.1.0": true},
		"~> 1.1":                {"1.0.9": false, "1.2.0": true, "2.0.0": false},
		"~> 1.1.0":              {"1.1.9": true, "1.2.0": false},
		">=  1.0":               {"1.0.0": true, "0.9.0": false},
		">=1.0,<2":              {"1.9.9": true, "2.0.0": false},
		"1.0.0.0":               {"1.0.0": true, "1.0.1": false},
		"v1.2":                  {"1.2.0": true, "1.2.1": false},
		">= v1.0, != v1.1.0":    {"1.0.0": true, "1.1.0": false},
		"= 1.0.0":               {"1.0.0": true, "1.0.0+a": true},
		">= 0":                  {"0.0.0": true},
		"1.0.0-beta1":           {"1.0.0-beta1": true, "1.0.0": false},
		"v1.0.0-beta1":          {"1.0.0-beta1": true},
		"= 1.0.0-beta1":         {"1.0.0-beta1": false}, // a fault of OpenTofu: opentofu/opentofu#2117
		">= 1.0.0-beta1":        {"1.0.0-beta1": false, "1.0.0": true},
		"~> 1.0.0-beta1":        {"1.0.0-beta1": false, "1.0.1": false},
		">= 1.0.0-beta1, < 1.1": {"1.0.0-beta1": false, "1.0.0": true},
	} {
		c, err := provider.ParseModuleConstraint(constraint)
		if err != nil {
			t.Errorf("%q: %v", constraint, err)
			continue
		}
		for text, want := range versions {
			v, err := provider.ParseVersion(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Allows(v); got != want {
				t.Errorf("%q allows %s: got %t", constraint, v, got)
			}
		}
		again, err := provider.ParseModuleConstraint(c.String())
		if err != nil || again.String() != c.String() {
			t.Errorf("%q: got %q, then %q, %v", constraint, c, again, err)
		}
	}
	for _, constraint := range []string{"x", "1.0,", "=> 1", "1.0 2.0", "~> ", "99999999999999999999"} {
		_, err := provider.ParseModuleConstraint(constraint)
		if _, ok := errors.AsType[*provider.SyntaxError](err); !ok {
			t.Errorf("%q: got %v", constraint, err)
		}
	}
}

// TestModuleConstraintsJoined checks that a joined constraint is one for modules.
func TestModuleConstraintsJoined(t *testing.T) {
	t.Parallel()
	module, err := provider.ParseModuleConstraint("~> 1")
	if err != nil {
		t.Fatal(err)
	}
	ordinary, err := provider.ParseConstraint("< 3.0.0")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []func() (provider.Constraint, error){
		func() (provider.Constraint, error) { return module.And(ordinary) },
		func() (provider.Constraint, error) { return ordinary.And(module) },
		func() (provider.Constraint, error) { return module.And(provider.Constraint{}) },
		func() (provider.Constraint, error) { return provider.Constraint{}.And(module) },
	} {
		joined, err := c()
		v, _ := provider.ParseVersion("2.1.0")
		if err != nil || !joined.Allows(v) {
			t.Errorf("%s: got %t, %v", joined, joined.Allows(v), err)
		}
	}
	if v, exact := module.Exact(); exact {
		t.Errorf("got %s", v)
	}
	exact, err := provider.ParseModuleConstraint("v1.0.0")
	if v, isExact := exact.Exact(); err != nil || !isExact || v.String() != "1.0.0" {
		t.Errorf("got %s, %t, %v", v, isExact, err)
	}
}
