package repository_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

func TestWritableLayout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := repository.NewLayout(filepath.Join(dir, "not", "there")).Capabilities().Writable(t.Context()); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("something is left behind: %v, %v", entries, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := repository.NewLayout(filepath.Join(file, "layout")).Capabilities().Writable(t.Context()); err == nil {
		t.Error("a layout within a file is writable")
	}
}
