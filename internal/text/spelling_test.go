package text_test

import (
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	words := []string{"mirror", "publish", "pull", "list", "lock", "exec", "verify", "serve", "platform", "plain-http", "to", "q"}
	for written, want := range map[string]string{
		"mirorr":                          "mirror", // swapped
		"miror":                           "mirror", // missing
		"mirrror":                         "mirror", // too many
		"merror":                          "mirror", // replaced
		"MIRROR":                          "mirror",
		"publsh":                          "publish",
		"platfrom":                        "platform",   //nolint:misspell // intended
		"plain":                           "plain-http", // unfinished
		"lis":                             "list",
		"ot":                              "to",
		"d":                               "",
		"vrfy":                            "",
		"copy":                            "",
		"":                                "",
		"pl":                              "",
		"unrelated":                       "",
		strings.Repeat("mirror", 100_000): "",
	} {
		got, found := text.Nearest(written, words)
		if got != want || found != (want != "") {
			t.Errorf("%.40s: %q, %v, want %q", written, got, found, want)
		}
	}
}
