package bounded_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := map[string]struct {
		text   string
		values int
		want   string // empty if valid
	}{
		"a number":                  {`1`, 1, ""},
		"a full array":              {`[1,2,3]`, 4, ""},
		"one too many":              {`[1,2,3]`, 3, "JSON exceeds 3 values"},
		"members of objects":        {`{"a":1,"b":{"c":[]}}`, 4, ""},
		"one member too many":       {`{"a":1,"b":{"c":[]}}`, 3, "JSON exceeds 3 values"},
		"structure in strings":      {`["[,{,","\",,,","\\",",,"]`, 5, ""},
		"a string without end":      {`"\`, 1, ""},
		"the same key twice counts": {`{"a":[1],"a":[1],"A":[1]}`, 6, "JSON exceeds 6 values"},
		"deep":                      {deep(bounded.MaxDepth), 1000, ""},
		"too deep":                  {deep(bounded.MaxDepth + 1), 1000, "JSON exceeds 64 levels"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := bounded.CheckJSON([]byte(test.text), test.values)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (!errors.Is(err, bounded.ErrJSONLimit) || err.Error() != test.want):
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestUnmarshalDecodesAsOpenTofuDoes(t *testing.T) {
	t.Parallel()
	var got struct {
		Name string `json:"name"`
	}
	if err := bounded.DecodeJSON([]byte(`{"name":"a","NAME":"b"}`), &got, 10); err != nil || got.Name != "b" {
		t.Errorf("got %q, %v", got.Name, err)
	}
	if err := bounded.DecodeJSON([]byte(`{"name":"a","NAME":"b"`), &got, 10); err == nil {
		t.Error("half a document was decoded")
	}
	if err := bounded.DecodeJSON([]byte(`[[],[]]`), &got, 2); err == nil {
		t.Error("more than the limit was decoded")
	}
}

// TestJSONErrorText checks that messages contain no terms of encoding/json, and at most
// one character from the document.
func TestJSONErrorText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":`:             "unexpected end of JSON",
		``:                  "unexpected end of JSON",
		`{b}`:               "unexpected 'b'",
		`{"a":1,}`:          "unexpected '}'",
		`{'a'}`:             `unexpected '\''`,
		`[tru"]`:            `unexpected '"'`,
		"{\"a\": \"x\ny\"}": "unexpected line break",
		`{} x`:              "unexpected 'x'",
		`{"name":1}`:        "name has the wrong type: number",
		`[]`:                "document has the wrong type: array",
	} {
		var into struct {
			Name string `json:"name"`
		}
		err := bounded.DecodeJSON([]byte(text), &into, 10)
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	_, isSyntax := errors.AsType[*json.SyntaxError](bounded.DecodeJSON([]byte("{"), new(any), 10))
	if other := errors.New("other"); !isSyntax || !errors.Is(bounded.JSONError(other), other) || bounded.JSONError(nil) != nil {
		t.Error("the error is another")
	}
}

// FuzzCheck checks that CheckJSON counts at least as many values as decoding returns.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{}`, `[1,"a,[",null,{"b":[true]}]`, `{"a":1,"a":2}`, `"\"`, `[,]`, `{"\\":"\\\""}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var document any
		if json.Unmarshal(data, &document) != nil {
			_ = bounded.CheckJSON(data, 10)
			return
		}
		n := count(document)
		if err := bounded.CheckJSON(data, n-1); n > 1 && err == nil {
			t.Errorf("%d values passed for %d", n, n-1)
		}
	})
}

// count returns the number of values in a decoded document. Duplicate keys are counted
// once.
func count(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += count(e)
		}
	case map[string]any:
		for _, e := range v {
			n += count(e)
		}
	}
	return n
}

// TestTypeError checks that messages about types use the terms of JSON.
func TestTypeError(t *testing.T) {
	t.Parallel()
	var into struct {
		Versions []struct {
			Size int `json:"size"`
		} `json:"versions"`
	}
	for text, want := range map[string]string{
		`[]`:                          "document has the wrong type: array",
		`{"versions":[{"size":"x"}]}`: "versions.size has the wrong type: string",
	} {
		err := bounded.DecodeJSON([]byte(text), &into, 10)
		if other, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok || other.Offset == 0 || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
