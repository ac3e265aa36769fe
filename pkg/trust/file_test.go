package trust_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

const example = `# whose releases we take
trust "registry.terraform.io/hashicorp/*" {
  fingerprints = ["C874 011F 0AB4 0511 0D02 1055 3436 5D94 72D7 468F"]
  expired      = "accept"
  unsigned     = "refuse"
}
trust "registry.terraform.io/hashicorp/null" {
  fingerprints = ["c874011f0ab405110d02105534365d9472d7468f", "91A6E7F85D05C65630BEF18951852D87348FFC4C"]
  signed_since = "3.0.0"
}
trust "*/*/*" {
  unsigned = "warn"
}
`

func TestParseRules(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, example)
	for address, want := range map[string]string{
		"registry.terraform.io/hashicorp/aws": "registry.terraform.io/hashicorp/*", "registry.terraform.io/hashicorp/null": "registry.terraform.io/hashicorp/null",
		"hashicorp/aws": "*/*/*",
	} {
		a, err := provider.ParseAddress(address)
		if err != nil {
			t.Fatal(err)
		}
		if rule, found := rules.For(a); !found || rule.Pattern.String() != want {
			t.Errorf("%s: got %q", address, rule.Pattern)
		}
	}
	if got := rules[0]; got.Expired != "accept" || got.Unsigned != "refuse" ||
		!cmp.Equal(got.Fingerprints, []string{"C874011F0AB405110D02105534365D9472D7468F"}) {
		t.Errorf("got %+v", got)
	}
	if got := rules[1]; len(got.Fingerprints) != 2 || got.SignedSince.String() != "3.0.0" || got.Unsigned != "" {
		t.Errorf("got %+v", got)
	}
	if _, found := rules[:2].For(provider.Address{Host: "example.com", Namespace: "acme", Type: "thing"}); found {
		t.Error("got a rule for an address that no pattern matches")
	}
	// Parsing the written rules returns the same rules.
	again := rulesOf(t, string(rules.Bytes()))
	if string(again.Bytes()) != string(rules.Bytes()) {
		t.Errorf("got\n%s\nwant\n%s", again.Bytes(), rules.Bytes())
	}
}

// TestParseRulesRefuses checks errors and their positions.
func TestParseRulesRefuses(t *testing.T) {
	t.Parallel()
	block := func(lines string) string { return "trust \"acme/*\" {\n" + lines + "\n}\n" }
	fingerprint := strings.Repeat("A", 40)
	for name, test := range map[string]struct{ text, want string }{
		"unknown block":                     {"pin \"acme/*\" {}\n", `f:1:1: Unsupported block type: Blocks of type "pin" are not expected here`},
		"unknown argument":                  {block("  finger = 1"), `f:2:3: Unsupported argument: An argument named "finger" is not expected here`},
		"argument outside":                  {"\nmode = 1\n", `f:2:1: Unsupported argument: An argument named "mode" is not expected here`},
		"argument twice":                    {block("  expired = \"warn\"\n  expired = \"warn\""), "f:3:3: Attribute redefined"},
		"pattern twice":                     {block("") + "\n" + block(""), "f:5:7: duplicate pattern registry.opentofu.org/acme/*: already used on line 1"},
		"pattern twice, in different forms": {block("") + "trust \"registry.opentofu.org/ACME/*\" {}\n", "f:4:7: duplicate pattern"},
		"no pattern":                        {"trust {}\n", "f:1:7: Missing pattern for trust: All trust blocks must have 1 labels (pattern)"},
		"two labels":                        {"trust \"a/b\" \"c/d\" {}\n", "f:1:13: Extraneous label for trust: Only 1 labels (pattern) are expected for trust blocks"},
		"bad pattern":                       {"trust \"*/acme/x\" {}\n", "f:1:7: invalid provider pattern"},
		"block in block":                    {block("  x {}"), "f:2:3: Unsupported block type: "},
		"short fingerprint":                 {block("  fingerprints = [\"72D7468F\"]"), "f:2:19: invalid fingerprint: want 40 or 64 hexadecimal digits"},
		"fingerprint twice":                 {block("  fingerprints = [\"" + fingerprint + "\",\n  \"" + strings.ToLower(fingerprint) + "\"]"), "f:3:3: duplicate fingerprint"},
		"fingerprint, a number":             {block("  fingerprints = [1]"), "f:2:19: each value in fingerprints must be a string"},
		"no list":                           {block("  fingerprints = \"" + fingerprint + "\""), "f:2:18: fingerprints must be a non-empty list"},
		"empty list":                        {block("  fingerprints = []"), "f:2:18: fingerprints must be a non-empty list"},
		"computed list":                     {block("  fingerprints = [for x in [\"" + fingerprint + "\"]: x]"), "f:2:18: fingerprints must be a non-empty list"},
		"bad action":                        {block("  unsigned = \"allow\""), "f:2:14: unsigned must be accept, warn, or refuse"},
		"action, a number":                  {block("  unsigned = 1"), "f:2:14: unsigned must be a string"},
		"action, a variable":                {block("  unsigned = warn"), "f:2:14: unsigned must be a string"},
		"bad version":                       {block("  signed_since = \"v1\""), "f:2:18: invalid version \"v1\""},
		"syntax":                            {"trust \"acme/*\" {\n", "f:1:16: Unclosed configuration block"},
		"nested":                            {block("  x = " + strings.Repeat("[", 100)), "f:2:70: brackets are nested more than 64 levels deep"},
	} {
		_, err := trust.ParseRules("f", []byte(test.text))
		if e, ok := errors.AsType[*stricthcl.Error](err); !ok || !strings.HasPrefix(e.Error(), test.want) {
			t.Errorf("%s: got %v, want %s…", name, err, test.want)
		}
	}
}

func TestReadRules(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trust.hcl")
	if _, err := trust.ReadRules(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	if rules, err := trust.ReadRules(path); len(rules) != 3 || err != nil {
		t.Errorf("got %d rules, %v", len(rules), err)
	}
	if err := os.WriteFile(path, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := trust.ReadRules(path); err == nil {
		t.Error("a file of more than 1 MiB was read")
	}
}
