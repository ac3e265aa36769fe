//go:build unix

package extprog_test

import (
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseLikeTheShell compares Parse with the system's shell. The words contain no
// expansions.
func TestParseLikeTheShell(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{
		`a b  c`,
		" \t a\t b \t",
		`'a b' "c d" e\ f`,
		`a'b'"c"\d''""`,
		`'' "" a`,
		`''''`,
		`"'" '"' \' \"`,
		`'a\b' "a\b" a\b`,
		`'\\' "\\" \\`,
		`'\$' "\$" \$`,
		"'\\`' \"\\`\" \\`",
		`"\"" "\'" "\ " "\n"`,
		"'a\\\nb' \"a\\\nb\" a\\\nb",
		"a \\\n b",
		"a\\\n b",
		"'a\nb' \"a\nb\"",
		`'|&;<>()#' "|&;<>()#" \|\&\;\<\>\(\)\#`,
		`a#b a'#'b`,
		`"a"#b ''#`,
		`a=b -c=d --e=f`,
		"a\rb \v \f",
		`é "日本" '→'`,
		`a\ \ b "  " '	'`,
		`"a\\\"b"`,
		`\a\b\c`,
		`'it'\''s'`,
		`"{zip}" -o json={}`,
		`'~' "~" \~ '*' "*" \* '?' '[a]'`,
		`'$HOME' \$HOME "\$HOME"`,
		`! % @ + , - . / : ] ^ _`,
	} {
		line := `printf %s\\000 ` + arguments
		printed, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", line).Output()
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		var ours []byte
		for _, word := range parse(t, line).Words()[2:] {
			ours = append(append(ours, word...), 0)
		}
		if diff := cmp.Diff(string(printed), string(ours)); diff != "" {
			t.Errorf("%q (-shell +ours):\n%s", line, diff)
		}
	}
}
