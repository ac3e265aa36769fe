//go:build !windows

package shell_test

import (
	"os/exec"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/shell"
)

func TestQuote(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "word", "two words", `it's "$HOME" \ ` + "`id`", "''", "{a,b}*?~\n"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+shell.Quote(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("%q became %q, %v", text, out, err)
		}
	}
}
