package text_test

import (
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

func TestList(t *testing.T) {
	t.Parallel()
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b, or c": {"a", "b", "c"}} {
		if got := text.List(words, "or"); got != want {
			t.Errorf("%q: got %q, want %q", words, got, want)
		}
	}
}
