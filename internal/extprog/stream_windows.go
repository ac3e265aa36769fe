package extprog

import (
	"io"
	"time"
)

// strayDelay is how long end waits for output after the process group was killed. At
// this point, only a process that has left the group can keep the pipe open. The output
// of such a process is not used. Pipes have no deadlines on Windows.
const strayDelay = time.Second

// copy copies the output to w until the end of the pipe.
func (s *stream) copy(w io.Writer) { _, _ = io.Copy(w, s.read) }

// end waits for the remaining output. After end has returned, the caller can use the
// writer.
func (s *stream) end() {
	// If the process was started, it has its own copy of this end of the pipe.
	_ = s.write.Close()
	timer := time.NewTimer(strayDelay)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C:
	}
	_ = s.read.Close()
	<-s.done
}
