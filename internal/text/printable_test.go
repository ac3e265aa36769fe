package text_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"plain\ttext\n":             "plain\ttext\n",
		"a::b":                      "a::b",
		"::error::x":                "\uFFFD::error::x",
		"ok\n \u3000\t::error::x\n": "ok\n \u3000\t\uFFFD::error::x\n",
		"a ##[error]x":              "a ##\uFFFD[error]x",
		"a\r::error::x":             "a\uFFFD::error::x",
		"a\u2028b\u0085c\x1b[31m":   "a\uFFFDb\uFFFDc\uFFFD[31m",
	} {
		if got := text.Printable(input); got != want {
			t.Errorf("%q became %q, want %q", input, got, want)
		}
	}
	if got := text.OneLine("a\n::error::\tb"); got != "a\uFFFD::error::\uFFFDb" {
		t.Errorf("got %q", got)
	}
}

// FuzzPrintable checks that no line is a workflow command.
func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{"::error::x", "\n\u00a0::set-output::", "####[x]", "#\u200b#[x", "\u202e::x", "a\n\n::\n", "\xff::x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		for _, got := range []string{text.Printable(input), text.Continued(text.Printable(input)), text.OneLine(input)} {
			for line := range strings.SplitSeq(got, "\n") {
				if strings.HasPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::") || strings.Contains(line, "##[") {
					t.Errorf("%q became %q", input, got)
				}
			}
		}
		if strings.Contains(text.OneLine(input), "\n") {
			t.Error("a line became two")
		}
		document, err := json.MarshalIndent(map[string]string{input: input}, "", "  ")
		if err != nil {
			return
		}
		got := text.PrintableJSON(string(document))
		var was, is map[string]string
		if json.Unmarshal(document, &was) != nil || json.Unmarshal([]byte(got), &is) != nil || len(was) != len(is) {
			t.Fatalf("%s became %s", document, got)
		}
		for k, v := range was {
			if is[k] != v {
				t.Errorf("%q became %q", v, is[k])
			}
		}
		if strings.Contains(got, "##[") || text.Printable(got) != got {
			t.Errorf("%q is in JSON as %s", input, got)
		}
	})
}
