package atomicfile_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

func TestCheckRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, dir := range map[string]string{"existing": dir, "to be made": filepath.Join(dir, "a", "b")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int64{-1, 0, 1} {
				if err := atomicfile.CheckFreeSpace(dir, size); err != nil {
					t.Errorf("%d bytes: %v", size, err)
				}
			}
			err := atomicfile.CheckFreeSpace(dir, math.MaxInt64)
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), fmt.Sprintf("%d bytes required", int64(math.MaxInt64))) || strings.Contains(err.Error(), ", 0 available") {
				t.Errorf("got %v for the largest size, want ENOSPC", err)
			}
		})
	}
}
