package main_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// tofu-oci ARG... runs the program, which must succeed.
func cmdTofuOCI(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("say which exit code: code N tofu-oci …")
	}
	runProgram(ts, 0, args)
}

// code N tofu-oci ARG... runs the program, which must exit with code N.
func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != "tofu-oci" {
		ts.Fatalf("usage: code N tofu-oci ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	runProgram(ts, want, args[2:])
}

func runProgram(ts *testscript.TestScript, want int, args []string) { runAs(ts, program, want, args) }

// execute runs the program in a separate process, because urfave/cli has global state,
// and two runs in one process would race.
func execute(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	cmd.Env = append(os.Environ(), noSleep, noTimeout, "HOME="+t.TempDir())
	return exitCodeOf(cmd.Run()), out.String(), problems.String()
}

// noSleep prevents a run with the race detector from sleeping for a second on exit.
const noSleep = "GORACE=atexit_sleep_ms=0"

// noTimeout is the default for --timeout, because a server on a busy machine can be
// silent for longer than a minute.
var noTimeout = "TOFU_OCI_TIMEOUT=" + patience.Limit.String()

// runAs runs the program under the given name and checks the exit code.
func runAs(ts *testscript.TestScript, program string, want int, args []string) {
	if got := runAny(ts, program, args); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// runAny runs the program under the given name and returns the exit code. It checks
// that the events match the exit code.
func runAny(ts *testscript.TestScript, program string, args []string) int {
	w := worldOf(ts)
	w.before = w.requests()
	ts.Check(os.RemoveAll(ts.MkAbs(eventsFile)))
	err := ts.Exec(program, networked(ts, args)...)
	if word := internalWords.FindString(ts.ReadFile("stderr")); word != "" {
		ts.Fatalf("the program speaks of its insides: %s", word)
	}
	told := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	for _, name := range []string{eventsFile, summaryFile} {
		if data, err := os.ReadFile(ts.MkAbs(name)); err == nil {
			told += string(data)
		}
	}
	if s := secretIn(told); s != "" {
		ts.Fatalf("the program prints a secret: %s", s)
	}
	code := exitCodeOf(err)
	ts.Check(checkEvents(ts.MkAbs(eventsFile), code))
	if asksJSON(args) {
		ts.Check(checkDocument(ts.ReadFile("stdout")))
	}
	return code
}

// secretIn returns the beginning of a secret that output contains, or "". A secret
// starts with "canary", or is a base64 encoding of a string that starts with "canary"
// or "jane:canary".
func secretIn(output string) string {
	for _, secret := range []string{"canary-", base64.RawStdEncoding.EncodeToString([]byte("canary")), base64.StdEncoding.EncodeToString([]byte("jane:canary-"))} {
		if strings.Contains(output, secret) {
			return secret
		}
	}
	return ""
}

// networked adds --config and --ca-file to commands that use the network, so that they
// use the script's servers. It does not modify commands that already have one of these
// flags.
func networked(ts *testscript.TestScript, args []string) []string {
	if len(args) > 1 && (args[0] == "module" || args[0] == "gate" || args[0] == "trust" || args[0] == "sync" && slices.Contains([]string{"plan", "apply", "init"}, args[1]) ||
		args[0] == "bundle" && slices.Contains([]string{"create", "inventory", "import"}, args[1])) {
		return slices.Concat(args[:1], networked(ts, args[1:]))
	}
	if len(args) == 0 || !slices.Contains([]string{"mirror", "publish", "pull", "copy", "list", "doctor", "check", "verify", "promote", "deny", "serve", "lock", "exec", "login", "plan", "apply", "init", "push", "create", "inventory", "import", "run"}, args[0]) ||
		slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "--config") || strings.HasPrefix(a, "--ca-file")
		}) {
		return args
	}
	work := ts.Getenv("WORK")
	return slices.Concat(args[:1], []string{"--config", filepath.Join(work, "tofurc"), "--ca-file", filepath.Join(work, "ca.pem")}, args[1:])
}

// exitCodeOf returns -1 if the program did not start.
func exitCodeOf(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// interrupt tofu-oci ARG... starts the program, presses Ctrl-C when a request
// encounters the fault "hang", and checks that the exit code is 130. It writes the
// output to the files interrupted.stdout and interrupted.stderr.
func cmdInterrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[0] != "tofu-oci" {
		ts.Fatalf("usage: interrupt tofu-oci ARG...")
	}
	w := worldOf(ts)
	select {
	case <-w.reached: // sent by a request of an earlier run
	default:
	}
	path, err := exec.LookPath(program)
	ts.Check(err)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(context.Background(), path, networked(ts, args[1:])...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), &stdout, &stderr
	for _, name := range []string{"HOME", "DOCKER_CONFIG", "PATH", "TMPDIR", "TOFU_OCI_EVENTS", "TOFU_OCI_TIMEOUT"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	ts.Check(cmd.Start())
	exited := make(chan error)
	go func() { exited <- cmd.Wait() }()
	select {
	case <-w.reached:
	case err := <-exited:
		ts.Fatalf("nothing hangs: exit code %d\n%s", exitCodeOf(err), &stderr)
	}
	ts.Check(cmd.Process.Signal(os.Interrupt))
	if got := exitCodeOf(<-exited); got != 130 {
		ts.Fatalf("exit code %d, want 130\n%s", got, &stderr)
	}
	ts.Check(checkEvents(ts.MkAbs(eventsFile), 130))
	ts.Check(os.WriteFile(ts.MkAbs("interrupted.stdout"), stdout.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("interrupted.stderr"), stderr.Bytes(), 0o600))
}

// empty DIR... checks that directories contain no files or do not exist.
func cmdEmpty(ts *testscript.TestScript, neg bool, args []string) {
	for _, dir := range args {
		var found []string
		_ = filepath.WalkDir(ts.MkAbs(dir), func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				found = append(found, path)
			}
			return nil
		})
		if (len(found) == 0) == neg {
			ts.Fatalf("%s has the files %q", dir, found)
		}
	}
}

// damage FILE overwrites a file with different bytes of the same length.
func cmdDamage(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		data := []byte(ts.ReadFile(name))
		data[len(data)/2] ^= 1
		ts.Check(os.WriteFile(ts.MkAbs(name), data, 0o600))
	}
}

// damage-zip LAYOUT [untraced|lost] changes a bit in each zip of a layout, like a
// faulty copy. With untraced, the recorded file attributes match the changed file, as
// after silent corruption. With lost, the zips are deleted.
func cmdDamageZip(ts *testscript.TestScript, _ bool, args []string) {
	blobs := filepath.Join(args[0], "blobs", "sha256")
	entries, err := os.ReadDir(ts.MkAbs(blobs))
	ts.Check(err)
	for _, entry := range entries {
		if name := filepath.Join(blobs, entry.Name()); strings.HasPrefix(ts.ReadFile(name), "PK") {
			if slices.Contains(args, "lost") {
				ts.Check(os.Remove(ts.MkAbs(name)))
				continue
			}
			cmdDamage(ts, false, []string{name})
			if len(args) > 1 {
				info, err := os.Stat(ts.MkAbs(name))
				ts.Check(err)
				record := atomicfile.NewRecord(filepath.Join(ts.MkAbs(args[0]), ".tofu-oci.blobs"))
				ts.Check(record.Add(digest.NewDigestFromEncoded(digest.SHA256, entry.Name()), info))
			}
		}
	}
}
