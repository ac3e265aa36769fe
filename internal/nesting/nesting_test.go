package nesting_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl"
	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tofu-oci/tofu-oci/internal/nesting"
)

func TestWhatPeopleWritePasses(t *testing.T) {
	t.Parallel()
	// A bracket in a text or a comment is none.
	brackets := strings.Repeat("([{", 1000)
	for name, err := range map[string]error{
		"empty":      nesting.Native(nil),
		"native":     nesting.Native([]byte("# " + brackets + "\na { b = [\"" + brackets + "\", { c = 1 }] }\n" + strings.Repeat("x {}\n", 1000))),
		"JSON":       nesting.JSON([]byte(`{"a":[{"` + brackets + `":[1]}]` + strings.Repeat(`,"b":{}`, 1000) + "}")),
		"HCL 2":      nesting.HCL2([]byte("# " + brackets + "\n" + strings.Repeat("provider \"x\" {\n  version = \"1.0.0\"\n  hashes = [\n    \"zh:(([[{{\",\n  ]\n}\n", 1000))),
		"long":       nesting.HCL2([]byte(strings.Repeat("a = b.c + 1\n", 1000) + "x = [" + strings.Repeat("a.b.c, ", 1000) + "]\n" + strings.Repeat("y = \"${a.b}${c.d}\"\n", 1000))),
		"HCL 2 JSON": new(nesting.Budget).HCL2JSON([]byte(`{"a":"` + brackets + `\"[[","b":[` + strings.Repeat("{},", 5000) + "1]}")),
		"script":     nesting.HCL2([]byte("a = <<-EOT\n" + strings.Repeat("  echo \"$HOME\" 100% ${var.a}\n", 2000) + "  EOT\n")),
		"large":      nesting.HCL2([]byte(strings.Repeat("resource \"a_b\" \"c\" {\n  name = \"some-text-of-usual-length\"\n}\n", 20_000))),
		"no HCL":     nesting.Native([]byte("\x00\"")),
		"no HCL 2":   nesting.HCL2([]byte("\x00\xff\"${")),
		"64 of them": nesting.Native([]byte("a = " + strings.Repeat("[", 64) + strings.Repeat("]", 64))),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTooMuch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		check func([]byte) error
		text  string
		want  string
	}{
		{"lists", nesting.Native, "a = " + strings.Repeat("[", 65), "1:69: brackets are nested deeper than 64"},
		{"objects", nesting.Native, strings.Repeat("\na {", 20_000), "66:3: brackets are nested deeper than 64"},
		{"blocks", nesting.Native, strings.Repeat("a {}\n", 1025), "1025:3: there are more than 1024 blocks and lists"},
		{"JSON", nesting.JSON, strings.Repeat("\n{\"a\":", 65), "66:1: brackets are nested deeper than 64"},
		{"JSON lists", nesting.JSON, `{"a":[` + strings.Repeat("[],", 5000), "there are more than 1024 blocks and lists"},
		{"parentheses", nesting.HCL2, "a = " + strings.Repeat("(", 50_000), "1:69: brackets are nested deeper than 64"},
		{"templates", nesting.HCL2, "a = " + strings.Repeat(`"${`, 1000), "brackets are nested deeper than 64"},
		{"negations", nesting.HCL2, "a = " + strings.Repeat("!", 50_000), "1:261: there are more than 256 operators"},
		{"minus", nesting.HCL2, "a = " + strings.Repeat("-", 50_000), "there are more than 256 operators"},
		{"conditions", nesting.HCL2, "a = " + strings.Repeat("a?b:", 300), "there are more than 256 operators"},
		{"lines in brackets", nesting.HCL2, "a = (1" + strings.Repeat("\n+1", 300) + ")", "there are more than 256 operators"},
		{"indexes", nesting.HCL2, "a = b" + strings.Repeat("[0]", 300), "there are more than 256 operators"},
		{"if without end", nesting.HCL2, `a = "` + strings.Repeat("%{if a}", 300), "there are more than 256 operators"},
		{"HCL 2 JSON", new(nesting.Budget).HCL2JSON, `{"\\":` + "\n" + strings.Repeat("[", 5000), "2:64: brackets are nested deeper than 64"},
		{"dollars", nesting.HCL2, "a = \"" + strings.Repeat("$", 64<<10) + "\"\n", "literals have too many pieces, such as lines of a heredoc"},
		{"percents", nesting.HCL2, "a = \"" + strings.Repeat("%x", 64<<10) + "\"\n", "literals have too many pieces, such as lines of a heredoc"},
		{"lines of a heredoc", nesting.HCL2, "a = <<E\n" + strings.Repeat("\n", 32<<10) + "E\n", "literals have too many pieces, such as lines of a heredoc"},
		{"pieces before parts", nesting.HCL2, "a = \"" + strings.Repeat("$", 16<<10) + strings.Repeat("${a}", 64<<10) + "\"\n", "literals have too many pieces, such as lines of a heredoc"},
		{"tokens", nesting.HCL2, strings.Repeat("a=1\n", 1<<20), "there are more than 524288 tokens"},
		{"tokens in a line", nesting.HCL2, "a=[" + strings.Repeat("1,", 2<<20) + "]", "there are more than 524288 tokens"},
		{"behind a long comment", nesting.HCL2, "/*" + strings.Repeat("x\n", 64<<10) + "\"\n*/ a = " + strings.Repeat("(", 65), "brackets are nested deeper than 64"},
		{"tokens in JSON", new(nesting.Budget).HCL2JSON, "[" + strings.Repeat("1,", 2<<20) + "1]", "there are more than 524288 tokens"},
		{"texts in JSON", new(nesting.Budget).HCL2JSON, "[" + strings.Repeat(`"",`, 1<<20) + "1]", "there are more than 524288 tokens"},
		{"sums", nesting.HCL2, "a = 1" + strings.Repeat("+1", 300), "there are more than 256 operators"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := test.check([]byte(test.text))
			var e *nesting.Error
			if !errors.As(err, &e) || !strings.HasSuffix(e.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestBudget checks that many texts together cost no more than a budget.
func TestBudget(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		check      func(*nesting.Budget, []byte) error
		text, want string
	}{
		"tokens":   {(*nesting.Budget).HCL2JSON, "[" + strings.Repeat("1,", 200_000) + "1]", "there are more than 2097152 tokens in all files"},
		"literals": {(*nesting.Budget).HCL2, "a = \"" + strings.Repeat("$", 20_000) + "\"\n", "literals have too many pieces"},
	} {
		var b nesting.Budget
		passed := 0
		err := test.check(&b, []byte(test.text))
		for ; err == nil && passed < 10; passed++ {
			err = test.check(&b, []byte(test.text))
		}
		if passed == 0 || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v after %d texts, want %s", name, err, passed, test.want)
		}
	}
}

// FuzzPassed gives what passes to the parsers, which have to come back.
func FuzzPassed(f *testing.F) {
	for _, seed := range []string{"a = [[[]]]", `{"a":[[{}]]}`, "a = ((1))", "a = !!true", "a = \"${\"${x}\"}\"", "a = <<E\n${[\nE\n", "x {} \n#(", "a = \"$$%%\"", "a = <<E\n\n\nE\n"} {
		f.Add([]byte(seed), 40)
	}
	f.Fuzz(func(t *testing.T, piece []byte, times int) {
		data := []byte(strings.Repeat(string(piece), min(max(times, 1), 1+32<<10/(len(piece)+1))))
		start := time.Now()
		if nesting.HCL2(data) == nil {
			_, _ = hclsyntax.ParseConfig(data, "", hcl2.InitialPos)
		}
		check := nesting.Native
		if strings.HasPrefix(strings.TrimSpace(string(data)), "{") {
			check = nesting.JSON
		}
		if check(data) == nil {
			parse(data)
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%d bytes took %s", len(data), d)
		}
	})
}

// parse does what the callers do about HCL 1's panics, which are no exhaustion.
func parse(data []byte) {
	defer func() { _ = recover() }()
	_, _ = hcl.ParseBytes(data)
}
