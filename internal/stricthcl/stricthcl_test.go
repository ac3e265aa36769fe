package stricthcl_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// read reads a file with the arguments name and all.
func read(text string) (name string, all []string, err error) {
	body, err := stricthcl.Parse("f", []byte(text))
	if err != nil {
		return "", nil, err
	}
	err = stricthcl.Arguments(body,
		stricthcl.Argument{Name: "name", Read: func(a *hclsyntax.Attribute) (err error) { name, err = stricthcl.String(a); return err }},
		stricthcl.Argument{Name: "all", Read: func(a *hclsyntax.Attribute) error {
			return stricthcl.Strings(a, "one of them", func(s string, _ hcl.Range) error { all = append(all, s); return nil })
		}},
		stricthcl.Argument{Name: "other", Read: func(a *hclsyntax.Attribute) error { return stricthcl.Wrong(a.NameRange, "it is %s", a.Name) }},
	)
	return name, all, err
}

func TestArguments(t *testing.T) {
	t.Parallel()
	name, all, err := read("all = [\"a\",\n  \"b\"]\nname = \"x\"\n")
	if name != "x" || !cmp.Equal(all, []string{"a", "b"}) || err != nil {
		t.Errorf("got %q, %q, %v", name, all, err)
	}
}

func TestErrorsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"name = \"x\"\nnam = 1":          `f:2:1: there is no argument "nam", only name, all and other`,
		"name = \"x\"\nname = \"y\"":     "f:2:1: Attribute redefined: ",
		"name = 1":                       "f:1:8: name must be a string",
		"name = x":                       "f:1:8: name must be a string",
		"name = null":                    "f:1:8: name must be a string",
		"all = []":                       "f:1:7: all must be a list of strings, and not empty",
		"all = [\"a\", 1]":               "f:1:13: one of them must be a string",
		"all = [for x in [\"a\"] : x]":   "f:1:7: all must be a list of strings",
		"\n other = 1":                   "f:2:2: it is other",
		"name = {":                       "f:1:9: Missing expression",
		"x = " + strings.Repeat("[", 70): "f:1:69: brackets are nested deeper than 64",
	} {
		_, _, err := read(text)
		if e, ok := errors.AsType[*stricthcl.Error](err); !ok || !strings.HasPrefix(e.Error(), want) {
			t.Errorf("%s: got %v, want %s…", text, err, want)
		}
	}
}
