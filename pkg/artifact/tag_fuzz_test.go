package artifact_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// FuzzParseTag checks that ParseTag accepts exactly the tags that Tag returns.
func FuzzParseTag(f *testing.F) {
	// See
	// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests.
	grammar := regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
	f.Fuzz(func(t *testing.T, text string) {
		if v, ok := artifact.ParseTag(text); ok {
			if again := artifact.Tag(v); again != text {
				t.Errorf("%q reads as %s, whose tag is %q", text, v, again)
			}
			if !grammar.MatchString(text) {
				t.Errorf("%q is read, and no registry has it", text)
			}
		} else if v != (provider.Version{}) {
			t.Errorf("%q is rejected, but results in %s", text, v)
		}
		v, err := provider.ParseVersion(text)
		if err != nil {
			return
		}
		tag := artifact.Tag(v)
		if again, ok := artifact.ParseTag(tag); !ok || again != v || strings.Contains(tag, "+") {
			t.Errorf("%s has the tag %q, which reads as %s, %t", v, tag, again, ok)
		}
	})
}
