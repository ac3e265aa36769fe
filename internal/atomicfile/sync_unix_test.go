//go:build !windows

package atomicfile_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

func TestNoHardLinks(t *testing.T) {
	t.Parallel()
	tests := map[error]bool{
		syscall.EPERM:  true,
		syscall.ENOSYS: true,
		syscall.EMLINK: true,
		syscall.EEXIST: false,
		syscall.ENOSPC: false,
	}
	for errno, want := range tests {
		err := &os.LinkError{Op: "link", Old: "a", New: "b", Err: errno}
		if got := atomicfile.NoHardLinks(err); got != want {
			t.Errorf("noHardLinks(%v) = %v, want %v", err, got, want)
		}
	}
}
