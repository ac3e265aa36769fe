package atomicfile_test

import (
	"errors"
	"math"
	"path/filepath"
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
				if err := atomicfile.CheckRoom(dir, size); err != nil {
					t.Errorf("%d bytes: %v", size, err)
				}
			}
			err := atomicfile.CheckRoom(dir, math.MaxInt64)
			room, ok := errors.AsType[*atomicfile.RoomError](err)
			if !ok || !errors.Is(err, syscall.ENOSPC) || room.Needed != math.MaxInt64 || room.Free <= 0 {
				t.Errorf("all that can be asked for: %v, want *RoomError", err)
			}
		})
	}
}
