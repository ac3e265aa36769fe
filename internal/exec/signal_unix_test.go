//go:build unix

package exec_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/exec"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// signalled runs the part of the child that handles signals.
func signalled(do string) (code int) {
	switch do {
	case "trap":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println("ready")
		fmt.Println(<-c)
		return 9
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(patience.Limit)
	}
	return 1
}

func TestKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, ".terraform.lock.hcl", nil)
	if r := w.run(t, "tofu", "kill"); r.err != nil || r.code != 128+int(syscall.SIGKILL) {
		t.Errorf("exit code %d, error %v", r.code, r.err)
	}
}

// TestSignals sends signals to this process. It is not parallel, because the children
// of other tests would receive the signals, too.
func TestSignals(t *testing.T) { //nolint:paralleltest // see above
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		w := newWorld(t)
		w.lock(t, ".terraform.lock.hcl", nil)
		reader, writer := io.Pipe()
		printed := make(chan string, 2)
		go func() {
			for lines := bufio.NewScanner(reader); lines.Scan(); {
				if lines.Text() == "ready" {
					_ = syscall.Kill(os.Getpid(), s)
				}
				printed <- lines.Text()
			}
			close(printed)
		}()
		r := w.run(t, "tofu", "trap", func(o *exec.Options) { o.Stdout = writer })
		_ = writer.Close()
		var last string
		for line := range printed {
			last = line
		}
		if r.err != nil || r.code != 9 || last != s.String() {
			t.Errorf("%v: exit code %d, error %v, the child printed %q", s, r.code, r.err, last)
		}
	}
}
