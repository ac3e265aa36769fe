package stricthcl_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// TestCompleteLines checks that a document that is split into pieces produces the same
// tokens as the complete text. Otherwise, a document could hide brackets from the
// check.
func TestCompleteLines(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	parts := []string{
		"/*", "*/", `"`, "\n", "\r\n", "${", "}", "{", "%{", "<<E\n", "<<-E\n", "\nE\n", "E", "a", "#", "//", "$", `\"`, "/", "*", "$${", "=", "1", " ", "é", "\xff", "\x00",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		var text strings.Builder
		for range 1 + random.IntN(40) {
			text.WriteString(parts[random.IntN(len(parts))])
		}
		data := []byte(text.String())
		want, _ := hclsyntax.LexConfig(data, "", hcl2.InitialPos)
		var got hclsyntax.Tokens
		pos, size := hcl2.InitialPos, 4
		for end := 0; end < len(data); {
			end = min(pos.Byte+size, len(data))
			tokens, _ := hclsyntax.LexConfig(data[pos.Byte:end], "", pos)
			if end < len(data) {
				if tokens = stricthcl.CompleteLines(tokens); len(tokens) == 0 {
					size *= 2
					continue
				}
			}
			got = append(got, tokens...)
			pos, size = tokens[len(tokens)-1].Range.End, 4
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", data, diff)
		}
	}
}
