package atomicfile_test

import (
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// FuzzStamp checks that each stamp has only one textual form.
func FuzzStamp(f *testing.F) {
	for _, text := range []string{"0 0 0 0", "228 1763769600000000000 1763769600000000001 42", "-1 -2 -3 4", "1 2 3 -4", "01 2 3 4", " 1 2 3 4", "1 2 3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := atomicfile.ParseStamp(text)
		if err == nil && s.String() != text {
			t.Errorf("%q is read as %q", text, s)
		}
	})
}
