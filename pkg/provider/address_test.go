package provider_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		input string
		want  provider.Address
		// text and ascii are the results of String and ASCII.
		text, ascii string
	}{
		{
			"hashicorp/aws",
			provider.Address{Host: provider.DefaultHost, Namespace: "hashicorp", Type: "aws"},
			"registry.opentofu.org/hashicorp/aws", "registry.opentofu.org/hashicorp/aws",
		},
		{
			"HashiCorp/Google-Beta",
			provider.Address{Host: provider.DefaultHost, Namespace: "hashicorp", Type: "google-beta"},
			"registry.opentofu.org/hashicorp/google-beta", "registry.opentofu.org/hashicorp/google-beta",
		},
		{
			"registry.terraform.io/hashicorp/aws",
			provider.Address{Host: "registry.terraform.io", Namespace: "hashicorp", Type: "aws"},
			"registry.terraform.io/hashicorp/aws", "registry.terraform.io/hashicorp/aws",
		},
		{
			"Localhost:8443/a/b",
			provider.Address{Host: "localhost:8443", Namespace: "a", Type: "b"},
			"localhost:8443/a/b", "localhost:8443/a/b",
		},
		{
			"example.com:443/a/b",
			provider.Address{Host: "example.com", Namespace: "a", Type: "b"},
			"example.com/a/b", "example.com/a/b",
		},
		{
			"BÜCHER.example:8443/Ä/b",
			provider.Address{Host: "xn--bcher-kva.example:8443", Namespace: "ä", Type: "b"},
			"bücher.example:8443/ä/b", "xn--bcher-kva.example:8443/ä/b",
		},
		{
			"日本/x",
			provider.Address{Host: provider.DefaultHost, Namespace: "日本", Type: "x"},
			"registry.opentofu.org/日本/x", "registry.opentofu.org/日本/x",
		},
		{
			// The word is reserved only on two hosts.
			"builtin/x",
			provider.Address{Host: provider.DefaultHost, Namespace: "builtin", Type: "x"},
			"registry.opentofu.org/builtin/x", "registry.opentofu.org/builtin/x",
		},
	} {
		t.Run(test.input, func(t *testing.T) {
			t.Parallel()
			got, err := provider.ParseAddress(test.input)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("wrong address (-want +got):\n%s", diff)
			}
			if got.String() != test.text {
				t.Errorf("String: got %q, want %q", got, test.text)
			}
			if got.ASCII() != test.ascii {
				t.Errorf("ASCII: got %q, want %q", got.ASCII(), test.ascii)
			}
			if again, err := provider.ParseAddress(got.String()); err != nil || again != got {
				t.Errorf("String does not round-trip: %v, %v", again, err)
			}
		})
	}
}

func TestParseAddressRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, input string
		offset      int
		problem     string
	}{
		{"nothing", "", 0, "must be NAMESPACE/TYPE or HOST/NAMESPACE/TYPE"},
		{"one part", "aws", 0, "must be NAMESPACE/TYPE or HOST/NAMESPACE/TYPE"},
		{"four parts", "a/b/c/d", 0, "must be NAMESPACE/TYPE or HOST/NAMESPACE/TYPE"},
		{"a URL", "https://a/b", 0, "remove https://"},
		{"a tag", "hashicorp/aws:5.0.0", 13, "specify the version after an @: hashicorp/aws@5.0.0"},
		{"a tag after a host with a port", "localhost:5000/a/b:1.0", 18, "specify the version after an @: localhost:5000/a/b@1.0"},
		{"a version as the last part", "hashicorp/aws/5.64.0", 13, "specify the version after an @: hashicorp/aws@5.64.0"},
		{"a version instead of an address", "5.64.0", 0, "as in hashicorp/null@5.64.0"},
		{"an address with a version", "hashicorp/aws@5.0", 13, "without a version"},
		{"only a type", "aws", 0, "such as hashicorp/aws"},
		{"an empty host", "/a/b", 0, "the host is empty"},
		{"a host with an underscore", "a_b.example/c/d", 0, "invalid host"},
		{"a host in Punycode", "xn--bcher-kva.example/a/b", 0, "must be given in unicode"},
		{"an invalid port", "example.com:99999/a/b", 0, "port number is greater than 65535"},
		{"a host with invalid UTF-8", "a\xff.example/a/b", 0, "characters that are not allowed in host names"},
		{"an empty namespace", "/aws", 0, "the namespace is empty"},
		{"an empty namespace after a host", "example.com//aws", 12, "the namespace is empty"},
		{"an empty type", "hashicorp/", 10, "the type is empty"},
		{"an underscore in the namespace", "ha_shi/aws", 0, "the namespace contains an underscore, which Terraform accepts since version 1.16, but OpenTofu does not"},
		{"an underscore in the type", "hashicorp/a_ws", 10, "the type is not valid: must contain only letters, digits, and dashes"},
		{"a legacy namespace", "-/aws", 0, `the namespace "-" is a placeholder in old configurations`},
		{"an unknown namespace", "?/aws", 0, `the namespace "?" is a placeholder in old configurations`},
		{"a legacy namespace on a host", "example.com/-/aws", 12, `the namespace "-" is a placeholder`},
		{"a dot", "hashi.corp/aws", 10, "the namespace after the host hashi.corp is missing"},
		{"two dashes", "hashicorp/a--b", 10, "the type is not valid: cannot use multiple consecutive dashes"},
		{"a leading dash", "-a/b", 0, "may not use leading or trailing dashes"},
		{"a trailing dash", "a/b-", 2, "may not use leading or trailing dashes"},
		{"a space", "hashicorp/a b", 10, "must contain only letters, digits, and dashes"},
		{"a namespace with invalid UTF-8", "a\xff/b", 0, "the namespace contains characters that are not allowed"},
		{"a full stop that folds to a dot", "a。b/c", 0, "the namespace contains characters that are not allowed"},
		{"a soft hyphen that is removed between dashes", "a/b-\u00ad-c", 2, "the type contains characters that are not allowed"},
		{"only characters that are removed", "\u00ad/c", 0, "the namespace contains characters that are not allowed"},
		{"a repository's name for the type", "hashicorp/terraform-provider-aws", 10, `the type must not start with "terraform-"; did you mean "aws"?`},
		{"a redundant prefix", "hashicorp/terraform-aws", 10, `did you mean "aws"?`},
		{"an OpenTofu repository's name for the type", "acme/opentofu-provider-x", 5, `the type must not start with "opentofu-"; did you mean "x"?`},
		{"Terraform's built-in provider", "terraform.io/builtin/terraform", 0, "built-in providers are part of OpenTofu"},
		{"OpenTofu's built-in provider", "opentofu.org/builtin/x", 0, "built-in providers are part of OpenTofu"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := provider.ParseAddress(test.input)
			checkSyntaxError(t, err, "provider address", test.input, test.offset, test.problem)
			if got != (provider.Address{}) {
				t.Errorf("got address %v with an error", got)
			}
		})
	}
}

// checkSyntaxError compares a syntax error with its expected values. problem needs to
// match only a part of the error's problem.
func checkSyntaxError(t *testing.T, err error, what, input string, offset int, problem string) {
	t.Helper()
	var e *provider.SyntaxError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a syntax error", err)
	}
	if e.What != what || e.Input != input || e.Offset != offset || !strings.Contains(e.Problem, problem) {
		t.Errorf("got %#v, want %s %q, offset %d: … %s …", e, what, input, offset, problem)
	}
}

func TestAddressZeroValueIsEmpty(t *testing.T) {
	t.Parallel()
	if got := (provider.Address{}).String(); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestAddressCompare(t *testing.T) {
	t.Parallel()
	sorted := addresses(t, "a.example/z/z", "b.example/a/b", "b.example/a/c", "b.example/b/a", "hashicorp/aws")
	shuffled := []provider.Address{sorted[3], sorted[0], sorted[4], sorted[2], sorted[1]}
	slices.SortFunc(shuffled, provider.Address.Compare)
	if diff := cmp.Diff(sorted, shuffled); diff != "" {
		t.Errorf("wrong order (-want +got):\n%s", diff)
	}
	if again := addresses(t, "a.example/z/z")[0]; sorted[0].Compare(again) != 0 {
		t.Error("an address differs from itself")
	}
}

func TestAddressesWithEquivalentHostsAreEqual(t *testing.T) {
	t.Parallel()
	as := addresses(t, "bücher.example/A/b", "BÜCHER.example:443/a/B")
	if as[0] != as[1] {
		t.Errorf("%#v is not %#v", as[0], as[1])
	}
	if as[0].Host != svchost.Hostname("xn--bcher-kva.example") {
		t.Errorf("got host %q", as[0].Host)
	}
}

func addresses(t *testing.T, texts ...string) []provider.Address {
	t.Helper()
	return parse(t, provider.ParseAddress, texts)
}

// parse parses strings that must be valid.
func parse[T any](t *testing.T, parse func(string) (T, error), texts []string) []T {
	t.Helper()
	values := make([]T, len(texts))
	for i, text := range texts {
		var err error
		if values[i], err = parse(text); err != nil {
			t.Fatal(err)
		}
	}
	return values
}
