package launch_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofu-oci/tofu-oci/internal/launch"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// startLimit is the time limit for a hanging test. A passing test does not wait.
const startLimit = time.Minute

// soon is the time limit for providers that hang after they have started. With the race
// detector, a busy machine takes seconds to start a provider.
const soon = 10 * time.Second

// as returns the path of the test program in a new directory. The file has the name of
// a provider in TestMain.
func as(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if runtime.GOOS == "windows" {
		path += ".exe" // Windows cannot remove a running program
	} else if os.Link(self, path) == nil {
		return path
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// place returns a directory that must be empty at the end of the test.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "l") //nolint:usetesting // socket paths must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("remaining files: %v, %v", left, err)
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

func TestStart(t *testing.T) {
	t.Parallel()
	for name, protocol := range map[string]int{"five": 5, "six": 6} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := launch.Start(t.Context(), as(t, name), launch.Options{TempDir: place(t)})
			if err != nil {
				t.Fatal(err)
			}
			want := launch.Report{Protocol: protocol, Resources: 4, DataSources: 3, Functions: 2, EphemeralResources: 1}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(launch.Report{}, "Started", "Memory")); diff != "" {
				t.Error(diff)
			}
			if got.Started <= 0 || got.Started > startLimit {
				t.Errorf("started in %s", got.Started)
			}
			if reported := runtime.GOOS == "linux" || runtime.GOOS == "windows"; reported && got.Memory < 1<<20 || got.Memory > 4<<30 {
				t.Errorf("%d bytes of memory", got.Memory)
			}
		})
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, c := range map[string]struct {
		options launch.Options
		kind    launch.Fault
		// text is a part of the error message.
		text string
	}{
		"message":        {kind: launch.Message, text: `instead of the handshake: "libfrob.so.3 is missing: [31m install it"`},
		"exits":          {kind: launch.Ended, text: "the provider exited before the handshake: exit status 3; stderr: no license"},
		"hangs":          {kind: launch.Hung, options: launch.Options{Timeout: time.Second}, text: "printed no handshake within 1s"},
		"garbage":        {kind: launch.Message, text: "garbage"},
		"endless":        {kind: launch.Flooded, text: "without a newline"},
		"half":           {kind: launch.Handshake, options: launch.Options{Timeout: soon}, text: `did not finish its handshake line within 10s: "1|6|un"`},
		"cut":            {kind: launch.Handshake, text: `incomplete handshake: "1|6|unix"`},
		"closes":         {kind: launch.Handshake, text: "closed its output without a handshake"},
		"netrpc":         {kind: launch.OtherProtocol, text: "does not use gRPC"},
		"four":           {kind: launch.OtherProtocol, text: `uses protocol "4"`},
		"core":           {kind: launch.OtherProtocol, text: "version 2 of the handshake"},
		"elsewhere":      {kind: launch.Handshake, text: "192.0.2.1:443 is not an address of this machine"},
		"plain":          {kind: launch.Schema, text: "authentication handshake failed"},
		"chatty":         {kind: launch.Flooded, options: launch.Options{MaxOutput: 1 << 20}, text: "the provider printed more than 1048576 bytes"},
		"no-schema":      {kind: launch.Schema, text: "Unimplemented"},
		"bad-schema":     {kind: launch.Schema, text: "failed to unmarshal"},
		"diagnostic":     {kind: launch.Schema, text: "could not send its schema: two resources of one name: x and x"},
		"huge-schema":    {kind: launch.Schema, text: "exceeds 64 MiB"},
		"dying-schema":   {kind: launch.Ended, text: "exited before it sent its schema: exit status 2; stderr: "},
		"hanging-schema": {kind: launch.Hung, options: launch.Options{Timeout: soon}, text: "did not send its schema within 10s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.options.TempDir = place(t)
			report, err := launch.Start(t.Context(), as(t, name), c.options)
			problem, ok := errors.AsType[*launch.Error](err)
			if !ok || problem.Fault != c.kind || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v (%#v), want %q with %q", err, problem, c.kind, c.text)
			}
			if strings.ContainsAny(err.Error(), "\x1b\n\x00") {
				t.Errorf("error %q has control characters", err)
			}
			if report != (launch.Report{}) {
				t.Errorf("report %v with an error", report)
			}
		})
	}
}

func TestStartUnstartable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "provider.exe")
	if err := os.WriteFile(path, []byte("MZ is not enough, and ELF it isn't"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, path + "-missing"} {
		_, err := launch.Start(t.Context(), path, launch.Options{TempDir: place(t)})
		if problem, ok := errors.AsType[*launch.Error](err); !ok || problem.Fault != launch.NotStarted {
			t.Errorf("error %v, want %q", err, launch.NotStarted)
		}
	}
}

// TestStartLeavesNoProcessBehind runs providers with a child that keeps their output
// open and is connected to the test.
func TestStartLeavesNoProcessBehind(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, c := range map[string]struct {
		kind    launch.Fault
		timeout time.Duration
	}{"stubborn": {launch.Hung, soon}, "leaves": {launch.Children, startLimit}, "daemon": {launch.Children, startLimit}} {
		if name == "daemon" && runtime.GOOS != "linux" && runtime.GOOS != "windows" {
			continue // processes outside the group cannot be found on this system
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := as(t, name)
			children := listen(t, path)
			_, err := launch.Start(t.Context(), path, launch.Options{TempDir: place(t), Timeout: c.timeout})
			if problem, ok := errors.AsType[*launch.Error](err); !ok || problem.Fault != c.kind {
				t.Errorf("error %v, want %q", err, c.kind)
			}
			checkEnded(t, children)
		})
	}
}

func TestStartIsInterrupted(t *testing.T) {
	t.Parallel()
	path := as(t, "stubborn")
	children := listen(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	dir := place(t)
	go func() {
		_, err := launch.Start(ctx, path, launch.Options{TempDir: dir})
		done <- err
	}()
	child, err := children.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	checkGone(t, child)
}

// listen returns the listener to which the children of the provider at path connect.
func listen(t *testing.T, path string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	address := filepath.Join(filepath.Dir(path), "address")
	if err := os.WriteFile(address, []byte(listener.Addr().String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return listener
}

// checkEnded checks that the connected child has exited.
func checkEnded(t *testing.T, children net.Listener) {
	t.Helper()
	if err := children.(*net.TCPListener).SetDeadline(time.Now().Add(startLimit)); err != nil {
		t.Fatal(err)
	}
	child, err := children.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	checkGone(t, child)
}

func checkGone(t *testing.T, child net.Conn) {
	t.Helper()
	if err := child.SetReadDeadline(time.Now().Add(startLimit)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(child); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the child is still running")
	}
}

// TestStartEnvironment checks that PATH is the only environment variable that a
// provider inherits.
func TestStartEnvironment(t *testing.T) {
	t.Parallel()
	path, dir := as(t, "surroundings"), place(t)
	_, err := launch.Start(t.Context(), path, launch.Options{TempDir: dir})
	if problem, ok := errors.AsType[*launch.Error](err); !ok || problem.Fault != launch.Ended {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(filepath.Dir(path), "given"))
	if err != nil {
		t.Fatal(err)
	}
	var got given
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Args) != 0 || got.Entries != 0 || got.Stdin != "" || !strings.Contains(got.Dir, filepath.Base(dir)) {
		t.Errorf("unexpected arguments, files, stdin, or directory: %v", got)
	}
	want := []string{
		"HOME", "PATH", "PLUGIN_CLIENT_CERT", "PLUGIN_MAX_PORT", "PLUGIN_MIN_PORT", "PLUGIN_PROTOCOL_VERSIONS",
		"TEMP", "TF_PLUGIN_MAGIC_COOKIE", "TMP", "TMPDIR", "USERPROFILE",
	}
	var names []string
	for _, variable := range got.Environment {
		if name, _, _ := strings.Cut(variable, "="); !strings.EqualFold(name, "SYSTEMROOT") { // Windows requires this variable
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}
