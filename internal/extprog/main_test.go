package extprog_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const (
	// asVariable selects the helper that the test program acts as.
	asVariable = "EXTPROG_TEST_AS"
	// addressVariable is the address to which a child connects.
	addressVariable = "EXTPROG_TEST_ADDRESS"
)

// TestMain lets the test program act as external programs, so that the tests run on
// every system.
func TestMain(m *testing.M) {
	as := os.Getenv(asVariable)
	if as == "" {
		os.Exit(m.Run())
	}
	helper, known := map[string]func() error{
		"echo":    func() error { return ignoreCount(io.Copy(os.Stdout, os.Stdin)) },
		"args":    printArguments,
		"print":   func() error { return ignoreCount(fmt.Print(os.Args[1])) },
		"deaf":    func() error { return ignoreCount(fmt.Print("{}")) },
		"flood":   flood,
		"fail":    fail,
		"refuse":  refuse,
		"hang":    hang,
		"parent":  func() error { return withChild(func() error { return ignoreCount(fmt.Print("{}")) }) },
		"hanging": func() error { return withChild(hang) },
		"child":   child,
	}[as]
	if !known {
		helper = func() error { return fmt.Errorf("no helper %q", as) }
	}
	if err := helper(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// actAs returns the environment in which the test program acts as a helper. The
// environment also disables the race detector's sleep of one second at exit.
func actAs(helper string) []string {
	return []string{asVariable + "=" + helper, "GORACE=atexit_sleep_ms=0"}
}

func ignoreCount[N int | int64](_ N, err error) error { return err }

func printArguments() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	stdin, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"args": os.Args[1:], "dir": dir, "stdin": string(stdin), "added": os.Getenv("EXTPROG_TEST_ADDED"),
	})
}

// flood prints until its output is closed.
func flood() error {
	line := strings.Repeat("x", 1<<16)
	for {
		if _, err := fmt.Print(line); err != nil {
			return err
		}
	}
}

func fail() error {
	fmt.Fprint(os.Stderr, strings.Repeat("before ", 1000), "\x1b[31mno such\r\nzip\x07\n")
	os.Exit(3)
	return nil
}

// refuse prints the reason for a failure to stdout, as credential helpers do.
func refuse() error {
	fmt.Print(os.Args[1])
	os.Exit(3)
	return nil
}

func hang() error {
	fmt.Fprintln(os.Stderr, "waiting")
	time.Sleep(time.Hour)
	return nil
}

// withChild starts a child that keeps stdout open. When the child is running, withChild
// calls then.
func withChild(then func() error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asVariable+"=child")
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = childAttributes(os.Args)
	ready, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
		return err
	}
	return then()
}

// child runs until the test closes the connection.
func child() error {
	conn, err := net.Dial("tcp", os.Getenv(addressVariable))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(os.Stderr, "r"); err != nil {
		return err
	}
	return ignoreCount(conn.Read(make([]byte, 1)))
}
