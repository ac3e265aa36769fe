package doctor_test

import (
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/doctor"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestParseLockRefusesWhatIsNested(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"parentheses": {"provider \"hashicorp/null\" {\n  version = " + strings.Repeat("(", 50_000), "reading the lock file: lock.hcl:2:76: brackets are nested deeper than 64"},
		"lists":       {"x = " + strings.Repeat("[", 20<<10), "lock.hcl:1:69: brackets are nested deeper than 64"},
		"negations":   {"x = " + strings.Repeat("!", 50_000), "there are more than 256 operators"},
	} {
		if _, err := doctor.ParseLock("lock.hcl", []byte(test.text), provider.Address{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

func FuzzParseLock(f *testing.F) {
	a, err := provider.ParseAddress("hashicorp/null")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := doctor.ParseLock("lock.hcl", data, a)
		if err != nil && !strings.HasPrefix(err.Error(), "reading the lock file: ") {
			t.Errorf("got %v", err)
		}
		if err == nil && !lock.Locked && (len(lock.Hashes) > 0 || lock.Version != provider.Version{}) {
			t.Errorf("not locked, and yet %v", lock)
		}
	})
}
