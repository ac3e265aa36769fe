package extprog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line string
		want []string
	}{
		{"syft", []string{"syft"}},
		{" \tsyft  {zip}\t-o spdx-json ", []string{"syft", "{zip}", "-o", "spdx-json"}},
		{`p 'a b' "c d" e\ f`, []string{"p", "a b", "c d", "e f"}},
		{`p a'b'"c"\d`, []string{"p", "abcd"}},
		{`p '' "" a''`, []string{"p", "", "", "a"}},
		{`p '\' '$x' '"'`, []string{"p", `\`, "$x", `"`}},
		{`p "\$ \" \\ \a '"`, []string{"p", `$ " \ \a '`}},
		{"p \"\\`\" \"a\\\nb\" a\\\nb \\\n c", []string{"p", "`", "ab", "ab", "c"}},
		{"p 'a\nb' \"c\nd\"", []string{"p", "a\nb", "c\nd"}},
		{"p $HOME `id` * ? [a] ~ {a,b} !", []string{"p", "$HOME", "`id`", "*", "?", "[a]", "~", "{a,b}", "!"}},
		{`p '|&;<>()' "|" \& a#b '#'`, []string{"p", "|&;<>()", "|", "&", "a#b", "#"}},
		{"p a\u00a0b\r é", []string{"p", "a\u00a0b\r", "é"}},
		{`'C:\Program Files\syft.exe' -q`, []string{`C:\Program Files\syft.exe`, "-q"}},
	}
	for _, test := range tests {
		p, err := extprog.Parse(test.line, "zip", "a")
		if err != nil {
			t.Errorf("%q: %v", test.line, err)
			continue
		}
		if diff := cmp.Diff(test.want, p.Words()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.line, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line    string
		offset  int
		problem string
	}{
		{"", 0, "no program"},
		{" \t", 0, "no program"},
		{"'' a", 0, "no program"},
		{"\\\n", 0, "no program"},
		{"p 'a b", 2, "single quote"},
		{`p a"b\"`, 3, "double quote"},
		{`p "\`, 2, "double quote"},
		{`p a\`, 3, "backslash"},
		{"p a\x00b", 3, "NUL"},
		{"p '\x00'", 3, "NUL"},
		{"p # why", 2, "no shell is run"},
		{"p a|q", 3, "no shell is run"},
		{"p && q", 2, "no shell is run"},
		{"p; q", 1, "no shell is run"},
		{"p 2>&1", 3, "no shell is run"},
		{"p <f", 2, "no shell is run"},
		{"p $(q)", 3, "no shell is run"},
		{"p q)", 3, "no shell is run"},
		{"p\nq", 1, "no shell is run"},
	}
	for _, test := range tests {
		p, err := extprog.Parse(test.line, "zip", "a")
		var syntax *provider.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q: %v, want a *SyntaxError", test.line, err)
			continue
		}
		if syntax.What != "command line" || syntax.Input != test.line || syntax.Offset != test.offset || !strings.Contains(syntax.Problem, test.problem) {
			t.Errorf("%q: %#v, want offset %d and %q", test.line, syntax, test.offset, test.problem)
		}
		if p.Name() != "" {
			t.Errorf("%q: got a program with an error", test.line)
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"syft --token=secret":    "syft",
		"'/opt/my tools/mk' {a}": "mk",
		"./create.sh":            "create.sh",
	} {
		if got := parse(t, line).Name(); got != want {
			t.Errorf("%q has the name %q, want %q", line, got, want)
		}
	}
	if got := (extprog.Program{}).Name(); got != "" {
		t.Errorf("no program has the name %q", got)
	}
}

func parse(tb testing.TB, line string) extprog.Program {
	tb.Helper()
	p, err := extprog.Parse(line, "zip", "a", "name", "empty")
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// quoted quotes words for a command line.
func quoted(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, line string) {
		p, err := extprog.Parse(line)
		if err != nil {
			var syntax *provider.SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(line) {
				t.Fatalf("%q: %#v, want a *SyntaxError within the line", line, err)
			}
			return
		}
		words := p.Words()
		again, err := extprog.Split(quoted(words...))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(words, again); diff != "" {
			t.Fatalf("%q: the words differ once each is quoted:\n%s", line, diff)
		}
		if !strings.ContainsAny(line, `'"\`) {
			// Without quotes, only spaces and tabs separate words.
			plain := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
			if diff := cmp.Diff(plain, words); diff != "" {
				t.Fatalf("%q (-blanks +words):\n%s", line, diff)
			}
		}
	})
}
