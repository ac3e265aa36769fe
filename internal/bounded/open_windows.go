package bounded

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// openTries and openPause bound the wait for those who let nobody else open a file:
// who gives it its name just then, or removes another of its names.
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
