package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

func TestLink(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	file, name := filepath.Join(parent, "file"), filepath.Join(parent, "name")
	if err := errors.Join(os.WriteFile(file, []byte("right"), 0o600), os.WriteFile(name, []byte("wrong"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second call replaces a name of the same file
		if err := atomicfile.Link(file, name); err != nil {
			t.Fatal(err)
		}
		checkContent(t, name, "right")
		checkNames(t, parent, "file", "name")
	}
	if err := atomicfile.Link(filepath.Join(parent, "none"), name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
	checkContent(t, name, "right")
	checkNames(t, parent, "file", "name")
}
