package access_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// unknownModule is the address of modules whose address is unknown.
const unknownModule = "///"

// moduleAddress returns the address of a module in a registry.
func moduleAddress(ascii string) provider.Address {
	parts := strings.SplitN(ascii, "/", 3)
	return provider.Address{Host: svchost.Hostname(parts[0]), Namespace: parts[1], Type: parts[2]}
}

// readable returns the modules that a caller can read.
func readable(c access.Caller) (all []string) {
	for _, a := range []string{
		"registry.opentofu.org/acme/vpc/aws", "registry.opentofu.org/acme/vpc/gcp", "registry.opentofu.org/other/vpc/aws",
		"xn--bcher-kva.example/acme/vpc/aws", unknownModule, "registry.opentofu.org/acme/vpc/aws/x", "registry.opentofu.org/acme/vpc/aws/",
	} {
		if c.MayRead(moduleAddress(a)) {
			all = append(all, a)
		}
	}
	return all
}

func TestModuleRules(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rules string
		want  []string
	}{
		{`allow = ["*/*/*"]`, nil},
		{`modules = ["acme/vpc/aws"]`, []string{"registry.opentofu.org/acme/vpc/aws"}},
		{"allow = [\"*/*/*\"]\n modules = [\"acme/*/*\"]", []string{"registry.opentofu.org/acme/vpc/aws", "registry.opentofu.org/acme/vpc/gcp"}},
		{`modules = ["bücher.example/*/*/*", "acme/vpc/gcp"]`, []string{"registry.opentofu.org/acme/vpc/gcp", "xn--bcher-kva.example/acme/vpc/aws"}},
		{`modules = ["*/*/*/*"]`, []string{
			"registry.opentofu.org/acme/vpc/aws", "registry.opentofu.org/acme/vpc/gcp", "registry.opentofu.org/other/vpc/aws",
			"xn--bcher-kva.example/acme/vpc/aws", unknownModule,
		}},
	} {
		caller, err := rulesOf(t, "anonymous {\n "+test.rules+"\n}", access.Options{}).Identify(t.Context(), "")
		if diff := cmp.Diff(test.want, readable(caller)); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", test.rules, err, diff)
		}
	}
	caller, err := (*access.Rules)(nil).Identify(t.Context(), "")
	if got := readable(caller); err != nil || len(got) != 5 {
		t.Errorf("without rules: %v, %v", got, err)
	}
	if got := readable(access.Caller{}); got != nil {
		t.Errorf("the zero caller can read %v", got)
	}
	rules := rulesOf(t, "anonymous { modules = [\"acme/vpc/gcp\"] }\ntoken \"ci\" {\n sha256 = \""+hashed(ciToken)+"\"\n modules = [\"acme/vpc/aws\"]\n}", access.Options{})
	if caller, err = rules.Identify(t.Context(), ciToken); err != nil || len(readable(caller)) != 2 || caller.MayRead(nouns.Address(t, "acme/vpc")) {
		t.Errorf("the token can read %v, %v", readable(caller), err)
	}
}

func TestModuleRulesRefuse(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"acme/vpc": "want NAMESPACE/NAME/SYSTEM", "*/vpc/aws": "every part after a *", "a/b/c/d/e": "want", "acme//aws": "letters",
		"a b/acme/vpc/aws": "the host must be", "acme/v*/aws": "letters", "acme/vpc/-": "letters",
	} {
		if _, err := access.Parse("f", []byte(`anonymous { modules = ["`+pattern+`"] }`), access.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", pattern, err)
		}
	}
}

// TestModuleArchiveTokens checks that a token for a module is not valid for a provider
// and vice versa, and only for the address under which the module was stored.
func TestModuleArchiveTokens(t *testing.T) {
	t.Parallel()
	key := access.NewArchiveKey()
	a := access.Archive{Address: moduleAddress("h.example/acme/vpc/aws"), Stored: moduleAddress("h.example/own/vpc/aws"), Version: nouns.Version(t, "1.0.0"), Filename: "vpc_1.0.0.zip"}
	token := key.Token(a, access.Caller{Name: "ci"}, time.Now().Add(time.Hour))
	caller, err := key.Check(token, a)
	if err != nil || !caller.MayRead(a.Stored) || caller.MayRead(a.Address) || caller.MayRead(provider.Address{}) {
		t.Errorf("wrong rights: %v", err)
	}
	a.Address = nouns.Address(t, "h.example/acme/vpc")
	if _, err := key.Check(token, a); err == nil {
		t.Error("the token of a module is valid for a provider")
	}
}
