package stricthcl_test

import (
	encoded "encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// document is a file that contains all forms of blocks.
type document struct {
	Name    *hcl.Attribute `hcl:"name,optional"`
	Plain   *plain         `hcl:"plain,block"`
	Labeled []labeled      `hcl:"labeled,block"`
}

type plain struct {
	Arguments hcl.Attributes `hcl:",remain"`
}

type labeled struct {
	Label     string         `hcl:"label,label"`
	Arguments hcl.Attributes `hcl:",remain"`
}

var blocks = map[string]int{"plain": 0, "labeled": 1}

func readJSON(text string) (d document, err error) {
	body, err := stricthcl.ParseJSON("f", []byte(text), blocks)
	if err == nil {
		err = stricthcl.DecodeBody("f", body, &d)
	}
	return d, err
}

func TestParseJSON(t *testing.T) {
	t.Parallel()
	d, err := readJSON("{\n\t\"//\": [\"a comment\"], \"name\": \"${x}\", \"plain\": {\"a\": [{}, 1]},\n\"labeled\": {\"x\": {\"b\": null}, \"y\": {}}}\n")
	if err != nil {
		t.Fatal(err)
	}
	name, err := stricthcl.String("name", d.Name.Expr)
	if name != "${x}" || err != nil || stricthcl.PositionOf(d.Name.NameRange).String() != "f:2:24" {
		t.Errorf("got %q at %v, %v", name, d.Name.NameRange, err)
	}
	if len(d.Plain.Arguments) != 1 || len(d.Labeled) != 2 || d.Labeled[0].Label != "x" || len(d.Labeled[0].Arguments) != 1 {
		t.Errorf("got %+v", d)
	}
	for _, text := range []string{"{}", `{"labeled":{}}`} {
		if d, err := readJSON(text); d.Labeled != nil || err != nil && !strings.Contains(err.Error(), "Missing block label") {
			t.Errorf("%s: got %+v, %v", text, d, err)
		}
	}
}

func TestJSONErrorPositions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\n \"nam\": 1}":                       `f:2:2: Extraneous JSON object property: No argument or block type is named "nam". Did you mean "name"?`,
		`{"name": "a", "name": "a"}`:            `f:1:15: duplicate key "name": already used on line 1`,
		"{\"name\": 1,\n \"n\\u0061me\": 1}":    `f:2:2: duplicate key "name": already used on line 1`,
		`{"plain": {"é": 1, "é": 2}}`:           `f:1:20: duplicate key "é"`,
		`{"name": [{"a": 1, "a": 2}]}`:          `f:1:20: duplicate key "a"`,
		`{"plain": [{}]}`:                       "f:1:11: plain must be an object",
		`{"plain": null}`:                       "f:1:11: plain must be an object",
		`{"labeled": []}`:                       "f:1:13: labeled must be an object",
		`{"labeled": [{"x": {}}]}`:              "f:1:13: labeled must be an object",
		`{"labeled": {"x": []}}`:                "f:1:19: labeled x must be an object",
		`{"labeled": {"x": {}, "x": {}}}`:       `f:1:23: duplicate key "x"`,
		`[{"name": 1}]`:                         "f:1:1: the document must be an object",
		`{"name": }`:                            "f:1:10: ",
		`{"name": 1} {}`:                        "f:1:13: Extraneous data after value",
		`{"name": 1,}`:                          "f:1:11: Trailing comma in object",
		"":                                      "f:1:1: Missing value",
		`{"name": ` + strings.Repeat("[", 70):   "f:1:73: brackets are nested more than 64 levels deep",
		`{"name":` + "\t" + `{"a": 1, "a": 1}}`: `f:1:19: duplicate key "a"`,
	} {
		_, err := readJSON(text)
		if e, ok := errors.AsType[*stricthcl.Error](err); !ok || !strings.HasPrefix(e.Error(), want) {
			t.Errorf("%s: got %v, want %s…", text, err, want)
		}
	}
}

// FuzzParseJSON checks that accepted documents are JSON objects, and that a second
// parser interprets them in the same way.
func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `{"name":"a","plain":{"a":1.5e3},"labeled":{"x":{"y":[true,null]}}}`, `{"a":1,"a":2}`, `{"plain":[]}`, "\xef\xbb\xbf{}", `{"\ud800":1}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body, err := stricthcl.ParseJSON("f", []byte(text), blocks)
		if err != nil {
			if e, ok := errors.AsType[*stricthcl.Error](err); !ok || e.Line < 1 || e.Column < 1 {
				t.Fatalf("the error has no position: %v", err)
			}
			return
		}
		var other map[string]any
		if err := encoded.Unmarshal([]byte(text), &other); err != nil {
			t.Fatal(err)
		}
		attributes, diags := body.JustAttributes()
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		delete(other, "//")
		want, got := map[string]bool{}, map[string]bool{}
		for key := range other {
			want[key] = true
		}
		for key := range attributes {
			got[key] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
