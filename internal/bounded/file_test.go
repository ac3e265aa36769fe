package bounded_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]string{5: "12345", 6: "12345"} {
		if got, err := bounded.ReadFile(path, limit); string(got) != want || err != nil {
			t.Errorf("limit %d: got %q, %v", limit, got, err)
		}
	}
	got, err := bounded.ReadFile(path, 4)
	if large, ok := errors.AsType[*bounded.TooLargeError](err); !ok || large.Path != path || large.Limit != 4 || got != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := bounded.ReadFile(filepath.Join(dir, "none"), 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := bounded.ReadFile(dir, 4); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("got %v", err)
	}
}
