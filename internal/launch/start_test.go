package launch_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofu-oci/tofu-oci/internal/launch"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// options returns options for providers that exit without being killed. No limit passes.
func options(t *testing.T) launch.Options {
	t.Helper()
	return launch.Options{TempDir: place(t), Timeout: patience.Limit}.WithDelays(patience.Limit, patience.Limit)
}

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
			began := time.Now()
			got, err := launch.Start(t.Context(), as(t, name), options(t))
			if err != nil {
				t.Fatal(err)
			}
			want := launch.Report{Protocol: protocol, Resources: 4, DataSources: 3, Functions: 2, EphemeralResources: 1}
			if diff := gocmp.Diff(want, got, cmpopts.IgnoreFields(launch.Report{}, "Started", "Memory")); diff != "" {
				t.Error(diff)
			}
			if got.Started <= 0 || got.Started > time.Since(began) {
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
		// late reports whether the time limit passes when the provider connects to the
		// test.
		late bool
	}{
		"message":        {kind: launch.Message, text: `instead of the handshake: "libfrob.so.3 is missing: [31m install it"`},
		"exits":          {kind: launch.Ended, text: "the provider exited before the handshake: exit status 3; stderr: no license"},
		"hangs":          {kind: launch.Hung, options: launch.Options{Timeout: time.Second}, text: "printed no handshake within 1s"},
		"garbage":        {kind: launch.Message, options: launch.Options{MaxOutput: math.MaxInt64}, text: "garbage"},
		"endless":        {kind: launch.Flooded, text: "without a newline"},
		"half":           {kind: launch.Handshake, text: `did not finish its handshake line within 1h0m0s: "1|6|un"`, late: true},
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
		"hanging-schema": {kind: launch.Hung, text: "did not send its schema within 1h0m0s", late: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.options.TempDir, c.options.Timeout = place(t), cmp.Or(c.options.Timeout, patience.Limit)
			exit := time.Second // all other providers are killed
			if c.kind == launch.Ended {
				exit = patience.Limit
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			path := as(t, name)
			if c.late {
				children := listen(t, path)
				go func() {
					if _, err := children.Accept(); err == nil {
						cancel(launch.ErrTime)
					}
				}()
			}
			report, err := launch.Start(ctx, path, c.options.WithDelays(exit, patience.Limit))
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
	for name, kind := range map[string]launch.Fault{"stubborn": launch.Hung, "leaves": launch.Children, "daemon": launch.Children} {
		if name == "daemon" && runtime.GOOS != "linux" && runtime.GOOS != "windows" {
			continue // processes outside the group cannot be found on this system
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The children run until they are killed, so the default delay for them passes.
			timeOut, err, child := startWithChild(t, name, options(t).WithDelays(patience.Limit, 0))
			if kind == launch.Hung {
				timeOut(launch.ErrTime)
			}
			if problem, ok := errors.AsType[*launch.Error](<-err); !ok || problem.Fault != kind {
				t.Errorf("error %v, want %q", problem, kind)
			}
			_, _ = io.ReadAll(child) // until the child is killed
		})
	}
}

func TestStartIsInterrupted(t *testing.T) {
	t.Parallel()
	cancel, err, child := startWithChild(t, "stubborn", options(t))
	cancel(nil)
	if err := <-err; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	_, _ = io.ReadAll(child) // until the child is killed
}

// startWithChild starts a provider that has a child, and waits for the child. It returns
// a function that cancels the context of Start, and Start's error.
func startWithChild(t *testing.T, name string, o launch.Options) (cancel context.CancelCauseFunc, err <-chan error, child net.Conn) {
	t.Helper()
	path := as(t, name)
	children := listen(t, path)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := launch.Start(ctx, path, o)
		done <- err
	}()
	child, failed := children.Accept()
	if failed != nil {
		t.Fatal(failed)
	}
	t.Cleanup(func() { _ = child.Close() })
	return cancel, done, child
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

// TestStartEnvironment checks that PATH is the only environment variable that a
// provider inherits.
func TestStartEnvironment(t *testing.T) {
	t.Parallel()
	path, o := as(t, "surroundings"), options(t)
	_, err := launch.Start(t.Context(), path, o)
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
	if len(got.Args) != 0 || got.Entries != 0 || got.Stdin != "" || !strings.Contains(got.Dir, filepath.Base(o.TempDir)) {
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
	if diff := gocmp.Diff(want, names); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}
