package stricthcl_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/hashicorp/hcl"
	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

func native(data []byte) error { return stricthcl.CheckHCL1("f", data, false) }

func json(data []byte) error { return stricthcl.CheckHCL1("f", data, true) }

func hcl2Native(data []byte) error { return new(stricthcl.Budget).Check("f", data) }

func hcl2JSON(data []byte) error { return new(stricthcl.Budget).CheckJSON("f", data) }

func TestRealisticTextsPass(t *testing.T) {
	t.Parallel()
	// Brackets in strings and comments are not counted.
	brackets := strings.Repeat("([{", 1000)
	for name, err := range map[string]error{
		"empty":      native(nil),
		"native":     native([]byte("# " + brackets + "\na { b = [\"" + brackets + "\", { c = 1 }] }\n" + strings.Repeat("x {}\n", 1000))),
		"JSON":       json([]byte(`{"a":[{"` + brackets + `":[1]}]` + strings.Repeat(`,"b":{}`, 1000) + "}")),
		"HCL 2":      hcl2Native([]byte("# " + brackets + "\n" + strings.Repeat("provider \"x\" {\n  version = \"1.0.0\"\n  hashes = [\n    \"zh:(([[{{\",\n  ]\n}\n", 1000))),
		"long":       hcl2Native([]byte(strings.Repeat("a = b.c + 1\n", 1000) + "x = [" + strings.Repeat("a.b.c, ", 1000) + "]\n" + strings.Repeat("y = \"${a.b}${c.d}\"\n", 1000))),
		"HCL 2 JSON": hcl2JSON([]byte(`{"a":"` + brackets + `\"[[","b":[` + strings.Repeat("{},", 5000) + "1]}")),
		"script":     hcl2Native([]byte("a = <<-EOT\n" + strings.Repeat("  echo \"$HOME\" 100% ${var.a}\n", 2000) + "  EOT\n")),
		"large":      hcl2Native([]byte(strings.Repeat("resource \"a_b\" \"c\" {\n  name = \"some-text-of-usual-length\"\n}\n", 20_000))),
		"no HCL":     native([]byte("\x00\"")),
		"no HCL 2":   hcl2Native([]byte("\x00\xff\"${")),
		"64 of them": native([]byte("a = " + strings.Repeat("[", 64) + strings.Repeat("]", 64))),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for _, test := range []struct {
		name  string
		check func([]byte) error
		text  string
		want  string
	}{
		{"lists", native, "a = " + strings.Repeat("[", 65), "1:69: brackets are nested more than 64 levels deep"},
		{"objects", native, strings.Repeat("\na {", 20_000), "66:3: brackets are nested more than 64 levels deep"},
		{"blocks", native, strings.Repeat("a {}\n", 1025), "1025:3: more than 1024 blocks and lists"},
		{"JSON", json, strings.Repeat("\n{\"a\":", 65), "66:1: brackets are nested more than 64 levels deep"},
		{"JSON lists", json, `{"a":[` + strings.Repeat("[],", 5000), "more than 1024 blocks and lists"},
		{"parentheses", hcl2Native, "a = " + strings.Repeat("(", 50_000), "1:69: brackets are nested more than 64 levels deep"},
		{"templates", hcl2Native, "a = " + strings.Repeat(`"${`, 1000), "brackets are nested more than 64 levels deep"},
		{"negations", hcl2Native, "a = " + strings.Repeat("!", 50_000), "1:261: expression exceeds 256 operators"},
		{"minus", hcl2Native, "a = " + strings.Repeat("-", 50_000), "expression exceeds 256 operators"},
		{"conditions", hcl2Native, "a = " + strings.Repeat("a?b:", 300), "expression exceeds 256 operators"},
		{"lines in brackets", hcl2Native, "a = (1" + strings.Repeat("\n+1", 300) + ")", "expression exceeds 256 operators"},
		{"indexes", hcl2Native, "a = b" + strings.Repeat("[0]", 300), "expression exceeds 256 operators"},
		{"if without end", hcl2Native, `a = "` + strings.Repeat("%{if a}", 300), "expression exceeds 256 operators"},
		{"HCL 2 JSON", hcl2JSON, `{"\\":` + "\n" + strings.Repeat("[", 5000), "2:64: brackets are nested more than 64 levels deep"},
		{"dollars", hcl2Native, "a = \"" + strings.Repeat("$", 64<<10) + "\"\n", "literals have too many pieces, such as lines of a heredoc"},
		{"percents", hcl2Native, "a = \"" + strings.Repeat("%x", 64<<10) + "\"\n", "literals have too many pieces, such as lines of a heredoc"},
		{"lines of a heredoc", hcl2Native, "a = <<E\n" + strings.Repeat("\n", 32<<10) + "E\n", "literals have too many pieces, such as lines of a heredoc"},
		{"pieces before parts", hcl2Native, "a = \"" + strings.Repeat("$", 16<<10) + strings.Repeat("${a}", 64<<10) + "\"\n", "literals have too many pieces, such as lines of a heredoc"},
		{"tokens", hcl2Native, strings.Repeat("a=1\n", 1<<20), "text exceeds 524288 tokens"},
		{"tokens in a line", hcl2Native, "a=[" + strings.Repeat("1,", 2<<20) + "]", "text exceeds 524288 tokens"},
		{"after a long comment", hcl2Native, "/*" + strings.Repeat("x\n", 64<<10) + "\"\n*/ a = " + strings.Repeat("(", 65), "brackets are nested more than 64 levels deep"},
		{"tokens in JSON", hcl2JSON, "[" + strings.Repeat("1,", 2<<20) + "1]", "text exceeds 524288 tokens"},
		{"texts in JSON", hcl2JSON, "[" + strings.Repeat(`"",`, 1<<20) + "1]", "text exceeds 524288 tokens"},
		{"sums", hcl2Native, "a = 1" + strings.Repeat("+1", 300), "expression exceeds 256 operators"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := test.check([]byte(test.text))
			var e *stricthcl.Error
			if !errors.As(err, &e) || !strings.HasSuffix(e.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestBudget checks that the limits apply to the total of all documents of a budget.
func TestBudget(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		check      func(*stricthcl.Budget, string, []byte) error
		text, want string
	}{
		"tokens":   {(*stricthcl.Budget).CheckJSON, "[" + strings.Repeat("1,", 200_000) + "1]", "the files exceed 2097152 tokens in total"},
		"literals": {(*stricthcl.Budget).Check, "a = \"" + strings.Repeat("$", 20_000) + "\"\n", "literals have too many pieces"},
	} {
		var b stricthcl.Budget
		passed := 0
		err := test.check(&b, "f", []byte(test.text))
		for ; err == nil && passed < 10; passed++ {
			err = test.check(&b, "f", []byte(test.text))
		}
		if passed == 0 || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v after %d texts, want %s", name, err, passed, test.want)
		}
	}
}

// FuzzParsersReturn parses documents that pass the check, and checks that the work of the
// parsers is limited.
func FuzzParsersReturn(f *testing.F) {
	for _, seed := range []string{"a = [[[]]]", `{"a":[[{}]]}`, "a = ((1))", "a = !!true", "a = \"${\"${x}\"}\"", "a = <<E\n${[\nE\n", "x {} \n#(", "a = \"$$%%\"", "a = <<E\n\n\nE\n"} {
		f.Add([]byte(seed), 40)
	}
	f.Fuzz(func(t *testing.T, piece []byte, times int) {
		data := []byte(strings.Repeat(string(piece), min(max(times, 1), 1+32<<10/(len(piece)+1))))
		before := allocated()
		if hcl2Native(data) == nil {
			_, _ = hclsyntax.ParseConfig(data, "", hcl2.InitialPos)
		}
		check := native
		if strings.HasPrefix(strings.TrimSpace(string(data)), "{") {
			check = json
		}
		if check(data) == nil {
			parse(data)
		}
		if n := allocated() - before; n > maxAllocated {
			t.Errorf("%d bytes required %d bytes of memory", len(data), n)
		}
	})
}

// parse handles panics of HCL 1 in the same way as the callers.
func parse(data []byte) {
	defer func() { _ = recover() }()
	_, _ = hcl.ParseBytes(data)
}

// maxAllocated is the maximum number of bytes that parsing a document allocates in total.
// Parsers allocate whenever they read, join, or copy tokens, so this number limits their
// work. The limits of stricthcl allow 1 GiB for joining literals and 200 MiB for tokens.
const maxAllocated = 4 << 30

// allocated returns the number of bytes that the program has allocated so far.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
