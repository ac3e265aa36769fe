package stricthcl_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// read decodes a file with the arguments name and all.
func read(text string) (name string, all []string, err error) {
	var f struct {
		Name *hcl.Attribute `hcl:"name,optional"`
		All  *hcl.Attribute `hcl:"all,optional"`
	}
	if err := stricthcl.Decode("f", []byte(text), &f); err != nil {
		return "", nil, err
	}
	if f.Name != nil {
		if name, err = stricthcl.String(f.Name.Name, f.Name.Expr); err != nil {
			return "", nil, err
		}
	}
	if f.All != nil {
		err = stricthcl.Strings(f.All.Name, f.All.Expr, func(s string, at hcl.Range) error {
			if s == "" {
				return stricthcl.Errorf(at, "empty %s", "string")
			}
			all = append(all, s)
			return nil
		})
	}
	return name, all, err
}

func TestDecode(t *testing.T) {
	t.Parallel()
	name, all, err := read("all = [\"a\",\n  \"b\"]\nname = \"x\"\n")
	if name != "x" || !cmp.Equal(all, []string{"a", "b"}) || err != nil {
		t.Errorf("got %q, %q, %v", name, all, err)
	}
}

func TestErrorPositions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"name = \"x\"\nnam = 1":          `f:2:1: Unsupported argument: An argument named "nam" is not expected here`,
		"b = 1\na = 1":                   `f:1:1: Unsupported argument: An argument named "b" is not expected here`,
		"block {}":                       `f:1:1: Unsupported block type: Blocks of type "block" are not expected here`,
		"name = \"x\"\nname = \"y\"":     "f:2:1: Attribute redefined: ",
		"name = 1":                       "f:1:8: name must be a string",
		"name = x":                       "f:1:8: name must be a string",
		"name = null":                    "f:1:8: name is required",
		"all = []":                       "f:1:7: all must be a non-empty list of strings",
		"all = [\"a\", 1]":               "f:1:13: each value in all must be a string",
		"all = [for x in [\"a\"] : x]":   "f:1:7: all must be a non-empty list of strings",
		"all = [\n \"\"]":                "f:2:2: empty string",
		"name = {":                       "f:1:9: Missing expression",
		"x = " + strings.Repeat("[", 70): "f:1:69: brackets are nested more than 64 levels deep",
	} {
		_, _, err := read(text)
		if e, ok := errors.AsType[*stricthcl.Error](err); !ok || !strings.HasPrefix(e.Error(), want) {
			t.Errorf("%s: got %v, want %s…", text, err, want)
		}
	}
}
