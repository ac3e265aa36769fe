package bounded

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// openTries and openPause limit how long opening a file is retried while another
// process renames or removes the file.
const (
	openTries = 50
	openPause = 20 * time.Millisecond
)

func open(path string) (*os.File, error) {
	for tries := 1; ; tries++ {
		f, err := os.Open(path)
		if tries == openTries || !errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
			return f, err
		}
		time.Sleep(openPause)
	}
}
