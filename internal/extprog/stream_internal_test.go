//go:build unix

package extprog

import (
	"bytes"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// slowly is a writer that needs a minute for each write.
type slowly struct{ got []byte }

func (w *slowly) Write(p []byte) (int, error) {
	time.Sleep(time.Minute)
	w.got = append(w.got, p...)
	return len(p), nil
}

// TestSlowWriterReceivesAllOutput covers output that is still in the pipe when the
// process has exited, while a process outside the group keeps the pipe open.
func TestSlowWriterReceivesAllOutput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &slowly{}
		s, err := newStream(w)
		if err != nil {
			t.Fatal(err)
		}
		defer keepOpen(t, s.write).Close()
		if _, err := s.write.Write(bytes.Repeat([]byte("x"), 60_000)); err != nil {
			t.Fatal(err)
		}
		if s.end(); len(w.got) != 60_000 {
			t.Errorf("%d bytes arrived", len(w.got))
		}
	})
}

// keepOpen returns a second descriptor of a file.
func keepOpen(t *testing.T, f *os.File) *os.File {
	t.Helper()
	conn, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var copied int
	if controlErr := conn.Control(func(fd uintptr) { copied, err = syscall.Dup(int(fd)) }); controlErr != nil || err != nil {
		t.Fatal(controlErr, err)
	}
	return os.NewFile(uintptr(copied), f.Name())
}
