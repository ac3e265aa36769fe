package cliconfig_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
)

// ourBlock is the block that MirrorBlock returns for the template and patterns of these
// tests.
const ourBlock = `provider_installation {
  oci_mirror {
    repository_template = "ghcr.io/acme/${namespace}/${type}"
    include             = ["registry.opentofu.org/hashicorp/*"]
  }
  direct {
    exclude = ["registry.opentofu.org/hashicorp/*"]
  }
}
`

// otherBlock is the block that MirrorBlock returns for a different template and
// different patterns.
const otherBlock = `provider_installation {
  oci_mirror {
    repository_template = "registry.example.com/${type}"
    include             = ["registry.opentofu.org/a/b", "registry.opentofu.org/a/c"]
  }
  direct {
    exclude = ["registry.opentofu.org/a/b", "registry.opentofu.org/a/c"]
  }
}
`

func merge(t *testing.T, text string) (string, error) {
	t.Helper()
	merged, err := cliconfig.Merge("tofurc", []byte(text), parseTemplate(t, "ghcr.io/acme/{namespace}/{type}"), parsePatterns(t, []string{"hashicorp/*"}))
	return string(merged), err
}

func TestMerge(t *testing.T) {
	t.Parallel()
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	const around = "# before\nx = 1 // odd\n\n"
	const below = "/* after */\nhost \"a.example\" {}\n"
	one := strings.Join(strings.Fields(ourBlock), " ") + "\n"
	for name, test := range map[string]struct{ before, want string }{
		"nothing":                     {"", ourBlock},
		"a line":                      {"x = 1\n", "x = 1\n\n" + ourBlock},
		"a line without an end":       {"x = 1 # c", "x = 1 # c\n\n" + ourBlock},
		"a paragraph":                 {around, around + ourBlock},
		"carriage returns":            {crlf(around), crlf(around + ourBlock)},
		"mixed":                       {"x = 1\r\ny = 2\n", "x = 1\r\ny = 2\n\n" + ourBlock},
		"the same":                    {around + ourBlock + below, around + ourBlock + below},
		"the same in another form":    {around + one + below, around + one + below},
		"ours, another":               {around + otherBlock + below, around + ourBlock + below},
		"ours, another, CRs":          {crlf(around + otherBlock + below), crlf(around + ourBlock + below)},
		"ours, at the end":            {around + strings.TrimSuffix(otherBlock, "\n"), around + strings.TrimSuffix(ourBlock, "\n")},
		"ours, behind long comments":  {"/* ü " + otherBlock + "*/\n" + otherBlock, "/* ü " + otherBlock + "*/\n" + ourBlock},
		"a comment that is not there": {"# provider_installation {\n", "# provider_installation {\n\n" + ourBlock},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := merge(t, test.before)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if again, err := merge(t, got); err != nil || again != got {
				t.Errorf("again: %v\n%s", err, again)
			}
		})
	}
}

func TestMergeByHand(t *testing.T) {
	t.Parallel()
	method, _, _ := strings.Cut(ourBlock, "  direct")
	method = strings.TrimPrefix(method, "provider_installation {\n")
	for name, test := range map[string]struct{ before, problem, block string }{
		"another method":          {"\nprovider_installation {\n  direct {}\n}\n", "tofurc:2:1: the file already has a provider_installation block", "provider_installation {\n" + method + "  direct {\n    exclude = [\"registry.opentofu.org/hashicorp/*\"]\n  }\n}\n"},
		"an empty one":            {"provider_installation {}\n", "tofurc:1:1: the file already has a provider_installation block", "provider_installation {\n" + method + "}\n"},
		"ours with a change":      {strings.Replace(otherBlock, "  direct", "  # why\n  direct", 1), "that was not written by tofu-oci or was changed later", ""},
		"one for developers":      {"provider_installation {\n  dev_overrides {\n    \"a/b\" = \"/x\"\n  }\n" + strings.TrimPrefix(ourBlock, "provider_installation {\n"), "not written by tofu-oci", ""},
		"one for developers only": {"provider_installation { dev_overrides { \"a/b\" = \"/x\" } }\n", "not written by tofu-oci", ""},
		"a comment":               {"provider_installation {\n  # of the team\n  direct {}\n}\n", "not written by tofu-oci", "provider_installation {\n" + method + "  # of the team\n  direct {\n    exclude = [\"registry.opentofu.org/hashicorp/*\"]\n  }\n}\n"},
		"in a line":               {"provider_installation { direct {} }\n", "not written by tofu-oci", "provider_installation { \n" + method + "direct {\n    exclude = [\"registry.opentofu.org/hashicorp/*\"]\n  } }\n"},
		"a list":                  {"provider_installation {\n  direct {\n    exclude = [\n      \"a/b\",\n    ]\n  }\n}\n", "not written by tofu-oci", "provider_installation {\n" + method + "  direct {\n    exclude = [\n      \"a/b\", \"registry.opentofu.org/hashicorp/*\",\n    ]\n  }\n}\n"},
		"an empty list":           {"provider_installation {\n  direct {\n    exclude = []\n  }\n}\n", "not written by tofu-oci", ""},
		"included":                {"provider_installation {\n  direct { include = [\"hashicorp/aws\", \"a/*\"] }\n}\n", "not written by tofu-oci", "provider_installation {\n" + method + "  direct {\n    exclude = [\"registry.opentofu.org/hashicorp/aws\"]\n   include = [\"hashicorp/aws\", \"a/*\"] }\n}\n"},
		"included only others":    {"provider_installation {\n  direct {\n    include = [\"a/*\"]\n  }\n}\n", "not written by tofu-oci", "provider_installation {\n" + method + "  direct {\n    include = [\"a/*\"]\n  }\n}\n"},
		"other mirrors":           {"provider_installation {\n  network_mirror {\n    url = \"https://a.example/\"\n    include = [\"a/*\"]\n  }\n  direct { # c\n  }\n  direct {}\n}\n", "not written by tofu-oci", ""},
		"two":                     {ourBlock + ourBlock, "duplicate provider_installation block; the first is at tofurc:1:1", ourBlock},
		"mixed line endings":      {"x = 1\r\n" + otherBlock, "mixed line endings", ourBlock},
		"JSON":                    {"{}", "tofurc: tofu-oci does not modify files in JSON syntax", "\"provider_installation\": {\n  \"oci_mirror\": [{\"include\":[\"registry.opentofu.org/hashicorp/*\"],\"repository_template\":\"ghcr.io/acme/${namespace}/${type}\"}],\n  \"direct\": [{\"exclude\":[\"registry.opentofu.org/hashicorp/*\"]}]\n}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := merge(t, test.before)
			byHand, ok := errors.AsType[*cliconfig.MergeError](err)
			if !ok || got != "" || !strings.Contains(err.Error(), test.problem) {
				t.Fatalf("got %q, %v, want … %s …", got, err, test.problem)
			}
			if test.block != "" {
				if diff := cmp.Diff(test.block, byHand.Block); diff != "" {
					t.Error(diff)
				}
			}
			// The proposal has the intended meaning.
			text := byHand.Block
			if strings.HasPrefix(text, `"`) {
				text = "{" + text + "}"
			}
			c, err := cliconfig.Parse("by hand", []byte(text))
			if err != nil || c.Installation == nil || c.Installation.Methods[0].Template.HCL() != "ghcr.io/acme/${namespace}/${type}" && name != "one for developers" {
				t.Fatalf("by hand: %v, %+v", err, c.Installation)
			}
			for _, n := range c.Notes {
				t.Errorf("by hand: %s", n)
			}
			for _, m := range c.Installation.Methods {
				if _, open := c.Installation.Overlap(m); m.Kind == cliconfig.Direct && len(open) > 0 {
					t.Errorf("by hand: %s also matches %v:\n%s", m, open, text)
				}
			}
		})
	}
}

// TestMergeByHandOnce checks that a proposal never contains the same method twice.
func TestMergeByHandOnce(t *testing.T) {
	t.Parallel()
	const begin, others = "provider_installation {\n", "  # the others\n  oci_mirror {\n    repository_template = \"ghcr.io/other/${namespace}/${type}\"\n    include             = [\"acme/*\"]\n  }\n"
	const rest = others + "  direct {}\n}\n"
	const excluding = others + "  direct {\n    exclude = [\"registry.opentofu.org/hashicorp/*\", \"registry.opentofu.org/acme/*\"]\n  }\n}\n"
	widerExcluding := strings.Replace(excluding, `/*", `, `/*", "registry.opentofu.org/b/c", `, 1)
	method, _, _ := strings.Cut(strings.TrimPrefix(ourBlock, begin), "  direct")
	elsewhere := strings.Replace(method, "ghcr.io/acme", "ghcr.io/old", 1)
	wider := strings.Replace(method, `/*"]`, `/*", "b/c"]`, 1)
	for name, test := range map[string]struct{ before, problem, block string }{
		"the same":            {begin + "  # ours\n" + method + rest, "; its oci_mirror block on line 3 already installs these providers from this repository", begin + "  # ours\n" + method + excluding},
		"for more":            {begin + wider + rest, "; its oci_mirror block on line 2 already installs these providers from this repository", begin + wider + widerExcluding},
		"another repository":  {begin + "  # ours\n" + elsewhere + rest, "or was changed later", begin + "  # ours\n" + method + excluding},
		"twice":               {begin + elsewhere + elsewhere + rest, "or was changed later", begin + method + excluding},
		"for more, elsewhere": {begin + strings.Replace(wider, "acme", "old", 1) + rest, "or was changed later", begin + method + strings.Replace(wider, "acme", "old", 1) + widerExcluding},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := merge(t, test.before)
			byHand, ok := errors.AsType[*cliconfig.MergeError](err)
			if !ok || !strings.HasSuffix(byHand.Problem, test.problem) {
				t.Fatalf("got %v, want … %s", err, test.problem)
			}
			if diff := cmp.Diff(test.block, byHand.Block); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"oops {":             "tofurc:",
		"x = {{{{":           "tofurc:",
		"host \"a\" = 1 }\n": "tofurc:",
	} {
		if got, err := merge(t, text); err == nil || got != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	if _, err := cliconfig.Merge("tofurc", nil, parseTemplate(t, "ghcr.io/acme/x"), nil); err == nil || !strings.Contains(err.Error(), "does not distinguish namespaces and types") {
		t.Errorf("got %v", err)
	}
}

// FuzzMerge checks that Merge replaces only our block, and that the result has the
// intended meaning.
func FuzzMerge(f *testing.F) {
	for _, text := range []string{"", "x = 1", "# c\r\n", ourBlock, "a\n" + otherBlock + "b {}\n", "provider_installation {}", "{}", "x = <<E\nprovider_installation {\nE\n", "/*", "\xef\xbb\xbfx = 1\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := merge(t, text)
		if err != nil {
			return
		}
		c, err := cliconfig.Parse("tofurc", []byte(got))
		if err != nil || c.Installation == nil || len(c.Installation.Methods) != 2 {
			t.Fatalf("the result for %q is invalid: %v\n%q", text, err, got)
		}
		if before, err := cliconfig.Parse("tofurc", []byte(text)); err != nil || before.Installation == nil && !strings.HasPrefix(got, text) {
			t.Errorf("%q, %v, lost something:\n%q", text, err, got)
		}
		if again, err := merge(t, got); err != nil || again != got {
			t.Errorf("%q: again: %v\n%q", text, err, again)
		}
	})
}
