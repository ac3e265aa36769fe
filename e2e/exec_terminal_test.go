//go:build linux

package e2e_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestCtrlCReachesTofuOnce presses Ctrl-C in a terminal, which sends the signal to exec
// and to its child process. exec must not send the signal again, because tofu would
// then exit without saving its state.
func TestCtrlCReachesTofuOnce(t *testing.T) {
	t.Parallel()
	m := newTimeMirror(t, provider.DefaultHost.String())
	j := m.job(t, t.TempDir())
	write(t, filepath.Join(j.dir, "main.tf"), sleeping)
	output(t, j.exec(t, programs.tofu, "init", "-input=false", "-no-color"))
	keys, screen := openTerminal(t)
	cmd := j.exec(t, programs.tofu, "apply", "-no-color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = screen, screen, screen
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = screen.Close()
	out := press(t, keys, []keystroke{{"Enter a value:", "yes\n"}, {underWay, "\x03"}})
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if !strings.Contains(out, "Interrupt received") || strings.Contains(out, "Two interrupts") {
		t.Errorf("tofu was not interrupted once:\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(j.dir, "terraform.tfstate")); err != nil {
		t.Error(err)
	}
}

// openTerminal opens a pseudoterminal. Bytes written to keys become the terminal's
// input, and reading from keys returns the terminal's output.
func openTerminal(t *testing.T) (keys, screen *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return keys, screen
}

// keystroke contains keys to type after the program has printed the text in when.
type keystroke struct{ when, keys string }

// press types the strokes and returns all output until the terminal is closed.
func press(t *testing.T, keys io.ReadWriter, strokes []keystroke) (out string) {
	t.Helper()
	text := make([]byte, 4096)
	for {
		n, err := keys.Read(text)
		out += string(text[:n])
		if err != nil {
			return out // on Linux, reading fails after the terminal is closed
		}
		if len(strokes) > 0 && strings.Contains(out, strokes[0].when) {
			if _, err := io.WriteString(keys, strokes[0].keys); err != nil {
				t.Error(err)
			}
			strokes = strokes[1:]
		}
	}
}
