//go:build unix

package extprog

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// maxPipe is the maximum capacity, in bytes, that an ordinary user can set for a pipe.
const maxPipe = 1 << 20

// copy copies the output to w. When [stream.end] interrupts it, copy copies only the
// bytes that the pipe contains.
func (s *stream) copy(w io.Writer) {
	if _, err := io.Copy(w, s.read); !errors.Is(err, os.ErrDeadlineExceeded) || s.read.SetReadDeadline(time.Time{}) != nil {
		return
	}
	conn, err := s.read.SyscallConn()
	if err != nil {
		return
	}
	rest := make([]byte, 64<<10)
	n := 1
	for copied := 0; n > 0 && copied < maxPipe; copied += n {
		// Reading from an empty pipe fails, because the runtime sets O_NONBLOCK.
		if conn.Read(func(fd uintptr) bool { n, err = syscall.Read(int(fd), rest); return true }) != nil || err != nil {
			return
		}
		_, _ = w.Write(rest[:n])
	}
}

// end waits until all output of the process has been written. It does not wait for the
// end of the pipe, because a process that has left the killed process group can keep the
// pipe open. After end has returned, the caller can use the writer.
func (s *stream) end() {
	// If the process was started, it has its own copy of this end of the pipe.
	_ = s.write.Close()
	_ = s.read.SetReadDeadline(time.Now()) // pipes have deadlines on all Unix systems
	<-s.done
	_ = s.read.Close()
}
