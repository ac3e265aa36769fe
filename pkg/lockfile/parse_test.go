package lockfile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// address is the start of each input in the table.
const address = `provider "registry.opentofu.org/corp/thing" `

// TestParseRejects checks one input for each error that OpenTofu reports.
func TestParseRejects(t *testing.T) {
	t.Parallel()
	ok := `version = "1.0.0"`
	for name, test := range map[string]struct{ text, want string }{
		"syntax":                 {"provider \"x\" {\n  version\n", "invalid lock file: f:2:3: An argument or block definition is required here. To set an argument, use the equals sign \"=\" to introduce the argument value"},
		"argument outside":       {"\nx = 1\n", `invalid lock file: f:2:1: unexpected argument "x" outside blocks`},
		"block outside":          {"thing {}\n", `invalid lock file: f:1:1: blocks of type "thing" are not expected here`},
		"no label":               {"provider {}\n", `invalid lock file: f:1:1: a provider block must have exactly one label`},
		"two labels":             {"module \"a\" \"b\" {}\n", `invalid lock file: f:1:1: a module block must have exactly one label`},
		"address in short":       {"provider \"corp/thing\" { " + ok + " }\n", `invalid lock file: f:1:10: the provider address must be written in full and in normalized form: "registry.opentofu.org/corp/thing"`},
		"address in capitals":    {"provider \"registry.opentofu.org/Corp/thing\" {\n  " + ok + "\n}\n", `invalid lock file: f:1:10: the provider address must be written in full and in normalized form: "registry.opentofu.org/corp/thing"`},
		"host in Punycode":       {"provider \"xn--bcher-kva.example/corp/thing\" {\n  " + ok + "\n}\n", `invalid lock file: f:1:10: invalid provider address "xn--bcher-kva.example/corp/thing": invalid host: hostname label "xn--bcher-kva" specified in punycode format; service hostnames must be given in unicode (at character 1)`},
		"built in":               {"provider \"terraform.io/builtin/terraform\" {\n  " + ok + "\n}\n", `invalid lock file: f:1:10: invalid provider address "terraform.io/builtin/terraform": built-in providers are part of OpenTofu and cannot be installed (at character 1)`},
		"one part":               {"provider \"aws\" {\n  " + ok + "\n}\n", `invalid lock file: f:1:10: invalid provider address "aws": must be NAMESPACE/TYPE or HOST/NAMESPACE/TYPE, such as hashicorp/aws (at character 1)`},
		"twice":                  {address + "{\n " + ok + "\n}\n" + address + "{\n " + ok + "\n}\n", `invalid lock file: f:4:1: provider registry.opentofu.org/corp/thing is already locked on line 1 (the first of 2 invalid blocks)`},
		"unknown argument":       {address + "{\n  " + ok + "\n  pinned = true\n}\n", `invalid lock file: f:3:3: an argument named "pinned" is not expected in a provider block`},
		"block within":           {address + "{\n  " + ok + "\n  pinned {}\n}\n", `invalid lock file: f:3:3: blocks of type "pinned" are not expected in a provider block`},
		"argument twice":         {address + "{\n  " + ok + "\n  " + ok + "\n}\n", `invalid lock file: f:3:3: The argument "version" was already set on line 2. Each argument may be set only once`},
		"no version":             {address + "{\n}\n", `invalid lock file: f:1:1: the argument "version" is required`},
		"version null":           {address + "{\n  version = null\n}\n", `invalid lock file: f:2:13: expected a quoted string`},
		"version in short":       {address + "{\n  version = \"1.0\"\n}\n", `invalid lock file: f:2:13: the version must be written in normalized form: "1.0.0"`},
		"version a number":       {address + "{\n  version = 1\n}\n", `invalid lock file: f:2:13: the version must be written in normalized form: "1.0.0"`},
		"version a list":         {address + "{\n  version = [\"1.0.0\"]\n}\n", `invalid lock file: f:2:13: expected a quoted string`},
		"version of a variable":  {address + "{\n  version = var.x\n}\n", `invalid lock file: f:2:13: Variables may not be used here`},
		"version with a v":       {address + "{\n  version = \"v1.0.0\"\n}\n", `invalid lock file: f:2:13: invalid version "v1.0.0": a "v" prefix should not be used (at character 1)`},
		"constraints unordered":  {address + "{\n  " + ok + "\n  constraints = \"< 3.0.0, >= 1.0.0\"\n}\n", `invalid lock file: f:3:17: the constraints must be written in normalized form: ">= 1.0.0, < 3.0.0"`},
		"constraints in short":   {address + "{\n  " + ok + "\n  constraints = \"~> 2\"\n}\n", `invalid lock file: f:3:17: the constraints must be written in normalized form: "~> 2.0"`},
		"constraints blank":      {address + "{\n  " + ok + "\n  constraints = \" \"\n}\n", `invalid lock file: f:3:17: invalid version constraint " ": a constraint is empty (at character 1)`},
		"constraints null":       {address + "{\n  " + ok + "\n  constraints = null\n}\n", `invalid lock file: f:3:17: expected a quoted string`},
		"no hashes":              {address + "{\n  " + ok + "\n  hashes = []\n}\n", `invalid lock file: f:3:12: the list of hashes must not be empty; omit the argument instead`},
		"hashes null":            {address + "{\n  " + ok + "\n  hashes = null\n}\n", `invalid lock file: f:3:12: A static list expression is required`},
		"hash without scheme":    {address + "{\n  " + ok + "\n  hashes = [\n    \"h1:a\",\n    \"abc\",\n  ]\n}\n", `invalid lock file: f:5:5: invalid hash "abc": must start with a scheme and a colon, such as "h1:" or "zh:"`},
		"hash of empty scheme":   {address + "{\n  " + ok + "\n  hashes = [\":abc\"]\n}\n", `invalid lock file: f:3:13: invalid hash ":abc": must start with a scheme and a colon, such as "h1:" or "zh:"`},
		"loop":                   {address + "{\n  version = [for x in [\"1.0.0\"] : x][0]\n}\n", `invalid lock file: f:2:13: loops are not supported in lock files`},
		"the first of two":       {address + "{\n  version = \"1\"\n  hashes = []\n}\n", `invalid lock file: f:2:13: the version must be written in normalized form: "1.0.0"`},
		"byte order mark within": {"\n\xef\xbb\xbf" + address + "{\n " + ok + "\n}\n", "invalid lock file: f:2:1: This character is not used within the language"},
		"JSON":                   {`{"provider": {}}`, `invalid lock file: f:1:1: An argument or block definition is required here`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := lockfile.Parse("f", []byte(test.text))
			if _, ok := errors.AsType[*stricthcl.Error](err); !ok {
				t.Fatalf("got %v, want a position", err)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestParseAccepts checks unusual input that OpenTofu accepts.
func TestParseAccepts(t *testing.T) {
	t.Parallel()
	thing := nouns.Address(t, "registry.opentofu.org/corp/thing")
	one := nouns.Version(t, "1.0.0")
	constraint, err := provider.ParseConstraint("1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	bare := lockfile.Selection{Address: thing, Version: one}
	for name, test := range map[string]struct {
		text string
		want []lockfile.Selection
	}{
		"nothing":             {"", []lockfile.Selection{}},
		"blank":               {" \n\t\n", []lockfile.Selection{}},
		"module":              {"module \"child\" {\n  anything = var.x\n  inner {}\n}\n", []lockfile.Selection{}},
		"byte order mark":     {"\xef\xbb\xbf" + address + "{\n  version = \"1.0.0\"\n}\n", []lockfile.Selection{bare}},
		"one line":            {address + `{ version = "1.0.0" }`, []lockfile.Selection{bare}},
		"carriage returns":    {address + "{\r\n  version = \"1.0.0\"\r\n}\r\n", []lockfile.Selection{bare}},
		"an expression":       {address + "{\n  version = true ? \"1.${\"0\"}.0\" : 2\n}\n", []lockfile.Selection{bare}},
		"empty constraints":   {address + "{\n  version = \"1.0.0\"\n  constraints = \"\"\n}\n", []lockfile.Selection{bare}},
		"bare constraint":     {address + "{\n  version = \"1.0.0\"\n  constraints = \"1.0.0\"\n}\n", []lockfile.Selection{{Address: thing, Version: one, Constraints: constraint}}},
		"unknown scheme":      {address + "{\n  version = \"1.0.0\"\n  hashes = [\"h2:x\"]\n}\n", []lockfile.Selection{{Address: thing, Version: one, Hashes: []lockfile.Hash{"h2:x"}}}},
		"hashes out of order": {address + "{\n  version = \"1.0.0\"\n  hashes = [\"zh:b\", \"h1:a\", \"zh:b\"]\n}\n", []lockfile.Selection{{Address: thing, Version: one, Hashes: []lockfile.Hash{"h1:a", "zh:b"}}}},
		"Unicode": {"provider \"bücher.example:8443/corp/thing\" {\n  version = \"1.0.0\"\n}\n", []lockfile.Selection{
			{Address: nouns.Address(t, "bücher.example:8443/corp/thing"), Version: one}}},
		"out of order": {"provider \"b.example/corp/thing\" {\n  version = \"1.0.0\"\n}\nprovider \"a.example/corp/thing\" {\n  version = \"1.0.0\"\n}\n", []lockfile.Selection{
			{Address: nouns.Address(t, "a.example/corp/thing"), Version: one}, {Address: nouns.Address(t, "b.example/corp/thing"), Version: one}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := lockfile.Parse("f", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			anyLine := cmpopts.IgnoreFields(lockfile.Selection{}, "Line")
			if diff := cmp.Diff(test.want, f.Selections(), sameConstraint, sameVersion, anyLine); diff != "" {
				t.Error(diff)
			}
			if got := string(f.Bytes()); got != test.text {
				t.Errorf("the text became %q", got)
			}
		})
	}
}

// TestParsePart checks that valid blocks are returned in addition to the error about
// invalid blocks, unless there are problems outside blocks.
func TestParsePart(t *testing.T) {
	t.Parallel()
	block := func(address, version string) string {
		return "provider \"" + address + "\" {\n  version = \"" + version + "\"\n}\n"
	}
	a, b := block("example.com/acme/a", "1.0.0"), block("example.com/acme/b", "2.0.0")
	for name, test := range map[string]struct {
		text string
		want []string // nil if no file is returned
		more bool     // whether the error mentions more blocks
	}{
		"namespace of Terraform": {a + block("example.com/acme_corp/x", "1.0.0") + b, []string{"a", "b"}, false},
		"invalid version":        {a + block("example.com/acme/x", "1"), []string{"a"}, false},
		"two invalid blocks":     {block("x", "1.0.0") + a + block("example.com/acme/x", "1"), []string{"a"}, true},
		"a provider twice":       {a + b + block("example.com/acme/a", "3.0.0"), []string{"b"}, true},
		"three times":            {a + a + a + b, []string{"b"}, true},
		"no valid block":         {block("x", "1.0.0"), []string{}, false},
		"an argument outside":    {block("x", "1.0.0") + a + "x = 1\n", nil, false},
		"a conflict":             {"<<<<<<< HEAD\n" + a + "=======\n" + b + ">>>>>>> other\n", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := lockfile.Parse("f", []byte(test.text))
			if !errors.Is(err, lockfile.ErrSyntax) || strings.Contains(err.Error(), "invalid blocks)") != test.more {
				t.Errorf("got %v", err)
			}
			var got []string
			if f != nil {
				got = []string{}
				for _, s := range f.Selections() {
					got = append(got, s.Address.Type)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLines checks the line numbers of selections.
func TestLines(t *testing.T) {
	t.Parallel()
	f, err := lockfile.Parse("f", []byte("# one\n\nprovider \"b.example/corp/thing\" {\n  version = \"1.0.0\"\n}\nprovider \"a.example/corp/thing\" {\n  version = \"1.0.0\"\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if all := f.Selections(); all[0].Line != 6 || all[1].Line != 3 {
		t.Errorf("got lines %d and %d, want 6 and 3", all[0].Line, all[1].Line)
	}
}
