package main_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
)

// TestLoginAtTerminal enters credentials at a terminal. The name must be echoed, but
// not the password, and the credentials must be stored.
func TestLoginAtTerminal(t *testing.T) {
	t.Parallel()
	s := startTyping(t)
	s.shows(t, "User name for ")
	s.types(t, "jane\n")
	s.shows(t, "Password for jane at ")
	s.waitsHidden(t)
	s.types(t, "canary-password\n")
	s.shows(t, "found by tofu-oci, tofu, docker, and oras")
	if err := s.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if strings.Contains(s.screen.String(), "canary") {
		t.Errorf("the screen shows the password: %q", &s.screen)
	}
	if data, err := os.ReadFile(s.config); err != nil || !strings.Contains(string(data), "amFuZTpjYW5hcnktcGFzc3dvcmQ=") {
		t.Errorf("%s, %v", data, err)
	}
}

// TestLoginInterrupted presses Ctrl-C at the password prompt. The terminal must echo
// input again, and no file must be written.
func TestLoginInterrupted(t *testing.T) {
	t.Parallel()
	s := startTyping(t, "--username", "jane")
	s.shows(t, "Password for jane at ")
	s.waitsHidden(t)
	s.types(t, "canary-pass\x03")
	s.shows(t, "interrupted")
	if code := exitCodeOf(s.cmd.Wait()); code != 130 {
		t.Errorf("exit code %d", code)
	}
	if !s.echoes(t) {
		t.Error("the terminal does not echo input")
	}
	if _, err := os.Stat(s.config); err == nil {
		t.Error("credentials were written")
	}
}

// typing is a login command at a pseudoterminal.
type typing struct {
	cmd *exec.Cmd
	// master is the user's side of the pseudoterminal. screen is the output so far.
	master, terminal *os.File
	screen           strings.Builder
	config           string
}

func startTyping(t *testing.T, args ...string) *typing {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	host := registrytest.Serve(t, ca, registrytest.New(registrytest.Options{Username: "jane", Password: "canary-password"}))
	home := t.TempDir()
	caFile := filepath.Join(home, "ca.pem")
	if err := os.WriteFile(caFile, ca.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	s := &typing{config: filepath.Join(home, ".docker", "config.json")}
	s.open(t)
	s.cmd = exec.CommandContext(t.Context(), path, append([]string{"login", host, "--ca-file", caFile}, args...)...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.terminal, s.terminal, s.terminal
	s.cmd.Env = append(os.Environ(), noSleep, noTimeout, "HOME="+home, "DOCKER_CONFIG=", "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=", "TERM=dumb")
	s.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true} // Ctrl-C sends a signal
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// open creates the pseudoterminal.
func (s *typing) open(t *testing.T) {
	t.Helper()
	var err error
	if s.master, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.master.Close() })
	if err := unix.IoctlSetPointerInt(int(s.master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(int(s.master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if s.terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.terminal.Close() })
}

// shows waits until the screen contains text.
func (s *typing) shows(t *testing.T, text string) {
	t.Helper()
	for buffer := make([]byte, 4096); !strings.Contains(s.screen.String(), text); {
		n, err := s.master.Read(buffer)
		s.screen.Write(buffer[:n])
		if err != nil && err != io.EOF {
			t.Fatalf("%q: %v", s.screen.String(), err)
		}
	}
}

func (s *typing) types(t *testing.T, text string) {
	t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// echoes reports whether the terminal echoes input.
func (s *typing) echoes(t *testing.T) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(s.terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// waitsHidden waits until the terminal stops echoing input, which happens shortly after
// the prompt.
func (s *typing) waitsHidden(t *testing.T) {
	t.Helper()
	for s.echoes(t) {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
}
