//go:build !windows

package text_test

import (
	"os/exec"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

func TestQuote(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "word", "two words", `it's "$HOME" \ ` + "`id`", "''", "{a,b}*?~\n"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+text.Quote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q became %q, %v", word, out, err)
		}
	}
}
