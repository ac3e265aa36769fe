package report

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\ttext\n":             "plain\ttext\n",
		"a::b":                      "a::b",
		"::error::x":                "\uFFFD::error::x",
		"ok\n \u3000\t::error::x\n": "ok\n \u3000\t\uFFFD::error::x\n",
		"a ##[error]x":              "a ##\uFFFD[error]x",
		"a\r::error::x":             "a\uFFFD::error::x",
		"a\u2028b\u0085c\x1b[31m":   "a\uFFFDb\uFFFDc\uFFFD[31m",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if got := OneLine("a\n::error::\tb"); got != "a\uFFFD::error::\uFFFDb" {
		t.Errorf("got %q", got)
	}
}

// FuzzPrintable checks that no line is a workflow command.
func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{"::error::x", "\n\u00a0::set-output::", "####[x]", "#\u200b#[x", "\u202e::x", "a\n\n::\n", "\xff::x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, got := range []string{Printable(text), Continued(Printable(text)), OneLine(text)} {
			for line := range strings.SplitSeq(got, "\n") {
				if strings.HasPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::") || strings.Contains(line, "##[") {
					t.Errorf("%q became %q", text, got)
				}
			}
		}
		if strings.Contains(OneLine(text), "\n") {
			t.Error("a line became two")
		}
		document, err := json.MarshalIndent(map[string]string{text: text}, "", "  ")
		if err != nil {
			return
		}
		got := printableJSON(string(document))
		var was, is map[string]string
		if json.Unmarshal(document, &was) != nil || json.Unmarshal([]byte(got), &is) != nil || len(was) != len(is) {
			t.Fatalf("%s became %s", document, got)
		}
		for k, v := range was {
			if is[k] != v {
				t.Errorf("%q became %q", v, is[k])
			}
		}
		if strings.Contains(got, "##[") || strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && !isHarmless(r) }) {
			t.Errorf("%q is in JSON as %s", text, got)
		}
	})
}
