package provider_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestAliases(t *testing.T) {
	t.Parallel()
	const tofu, terraform = "registry.opentofu.org/hashicorp/time", "registry.terraform.io/hashicorp/time"
	for _, test := range []struct {
		name, alias, requested, stored string
		want                           bool
	}{
		{"equal addresses without an alias", "", tofu, tofu, true},
		{"different registries without an alias", "", tofu, terraform, false},
		{"declared", tofu + "=" + terraform, tofu, terraform, true},
		{"not the other way round", tofu + "=" + terraform, terraform, tofu, false},
		{"another provider of the namespace", tofu + "=" + terraform, "hashicorp/null", "registry.terraform.io/hashicorp/null", false},
		{"all types", "hashicorp/*=registry.terraform.io/hashicorp/*", tofu, terraform, true},
		{"never another type", "hashicorp/*=registry.terraform.io/hashicorp/*", tofu, "registry.terraform.io/hashicorp/null", false},
		{"one to all", tofu + "=registry.terraform.io/*/*", tofu, terraform, true},
		{"all namespaces, the same", "registry.opentofu.org/*/*=registry.terraform.io/*/*", tofu, terraform, true},
		{"all namespaces, another", "registry.opentofu.org/*/*=registry.terraform.io/*/*", tofu, "registry.terraform.io/evil/time", false},
		{"all hosts, another", "*/*/*=*/*/*", tofu, terraform, false},
		{"a namespace for all", "registry.opentofu.org/*/*=example.com/mirror/*", tofu, "example.com/mirror/time", true},
		{"a namespace for all, another", "registry.opentofu.org/*/*=example.com/mirror/*", tofu, "example.com/other/time", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var aliases provider.Aliases
			if test.alias != "" {
				x, err := provider.ParseAlias(test.alias)
				if err != nil {
					t.Fatal(err)
				}
				aliases = append(aliases, x)
				if again, err := provider.ParseAlias(x.String()); err != nil || again != x {
					t.Errorf("%s is read again as %s, %v", x, again, err)
				}
			}
			as := addresses(t, test.requested, test.stored)
			if got := aliases.Allow(as[0], as[1]); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestAliasesAreAllRead(t *testing.T) {
	t.Parallel()
	as := addresses(t, "acme/x", "example.com/acme/x")
	aliases := parse(t, provider.ParseAlias, []string{"acme/y=example.com/acme/y", "acme/x=example.com/acme/x"})
	if !provider.Aliases(aliases).Allow(as[0], as[1]) {
		t.Error("the second alias allows the release")
	}
}

func TestParseAliasRefuses(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"":                        "must be REQUESTED=STORED",
		"acme/x":                  "must be REQUESTED=STORED, with two addresses or patterns (at character 7)",
		"=acme/x":                 "must be NAMESPACE/TYPE or HOST/NAMESPACE/TYPE (at character 1)",
		"acme/x=":                 "must be NAMESPACE/TYPE or HOST/NAMESPACE/TYPE (at character 8)",
		"acme/x=acme/x=acme/x":    "(at character 13)",
		"acme/x=example.com/a/y":  "both types must be the same; only the host and namespace can differ (at character 8)",
		"acme/x=*/acme/x":         "every part after a * must also be *",
		"acme/_=example.com/acme": "the type",
	} {
		_, err := provider.ParseAlias(input)
		var syntax *provider.SyntaxError
		if !errors.As(err, &syntax) || syntax.Input != input || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want … %s …", input, err, want)
		}
	}
}
