package store_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// These environment variables configure the worker processes.
const (
	envStore = "TEST_STORE"
	envHang  = "TEST_STORE_HANG"
)

// TestWork is the entry point of the worker processes. Without the environment
// variables, it runs as an ordinary test.
func TestWork(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(envStore)
	if dir == "" {
		dir = t.TempDir()
	}
	if os.Getenv(envHang) != "" {
		hang(t, dir)
	}
	work(t, dir)
}

// work keeps, reads, and prunes entries while other processes use the same entries.
func work(t *testing.T, dir string) {
	t.Helper()
	s, events := open(t, dir, false)
	for i := range 60 {
		if os.Getenv(envStore) != "" {
			_, _ = os.Stdout.WriteString(step + "\n")
		}
		content := strings.Repeat(fmt.Sprintf("zip %d ", rand.IntN(4)), 1<<12)
		if got, ok := take(t, s, digest.FromString(content)); ok && got != content {
			t.Errorf("wrong bytes of the %d expected", len(content))
		} else if !ok {
			keep(t, s, content)
		}
		files := map[string]string{"terraform-provider-x": fmt.Sprintf("program %d", rand.IntN(3)), "docs/a": "a", "docs/b": "b"}
		d := putTree(t, s, files)
		if tree, ok := s.Tree(t.Context(), d); ok {
			to := t.TempDir()
			if err := tree.CopyTo(t.Context(), to, true); err != nil {
				t.Errorf("copying a package in use: %v", err)
			} else if diff := cmp.Diff(files, contents(t, to)); diff != "" {
				t.Error(diff)
			}
			must(t, tree.Close())
		}
		if i%7 == 0 {
			if _, err := s.Prune(t.Context(), store.PruneOptions{MaxSize: new(int64(30_000))}); err != nil {
				t.Errorf("pruning: %v", err)
			}
		}
	}
	events.check(t, 0, 0)
}

// step is printed by a worker before each round.
const step = "STEP"

// hang keeps half of a zip, prints HALF, and blocks until it is killed.
func hang(t *testing.T, dir string) {
	t.Helper()
	s, _ := open(t, dir, false)
	reader, _ := io.Pipe()
	body := s.Keep(digest.FromString("content"), 7, io.NopCloser(io.MultiReader(strings.NewReader("con"), reader)))
	_, _ = io.CopyN(io.Discard, body, 3)
	_, _ = os.Stdout.WriteString("HALF\n")
	_, _ = io.Copy(io.Discard, body)
}

// worker returns the command of a worker process.
func worker(t *testing.T, dir string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestWork$")
	cmd.Env = append(append(os.Environ(), envStore+"="+dir), env...)
	return cmd
}

// TestConcurrentProcesses checks that concurrent processes read correct content and don't
// report damage by mistake. It also checks that they can finish copying entries.
func TestConcurrentProcesses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store") // the processes race to create this directory
	var all []*exec.Cmd
	outputs := make([]strings.Builder, 3)
	for i := range outputs {
		cmd := worker(t, dir)
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		must(t, cmd.Start())
		all = append(all, cmd)
	}
	for i, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, outputs[i].String())
		}
	}
	noLitter(t, dir)
}

// TestKilledDuringWrite checks that a partial file is never used, and that Prune
// removes it after a day.
func TestKilledDuringWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := worker(t, dir, envHang+"=1")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "HALF" {
		t.Log(lines.Text())
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	left, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", ".tofu-oci-*.tmp"))
	if len(left) != 1 || err != nil {
		t.Fatalf("%q are left, %v", left, err)
	}
	s, events := open(t, dir, false)
	if _, ok := take(t, s, digest.FromString("content")); ok {
		t.Error("half of it is there")
	}
	at := time.Now().Add(-25 * time.Hour)
	must(t, os.Chtimes(left[0], at, at))
	keep(t, s, "content")
	checkTaken(t, s, "content")
	noLitter(t, dir)
	events.check(t, 0, 0)
}

// TestKilledAtRandom checks that all entries are complete after processes were killed
// at random times.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	dir := t.TempDir()
	for range 6 {
		cmd := worker(t, dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for n := rand.IntN(20); n > 0 && lines.Scan(); n-- {
			if lines.Text() != step {
				t.Error(lines.Text())
			}
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	s, events := open(t, dir, true)
	entries, err := s.Entries(t.Context())
	must(t, err)
	for _, e := range entries {
		var ok bool
		if e.Kind == "zip" {
			_, ok = take(t, s, e.Digest)
		} else {
			_, ok = takeTree(t, s, e.Digest)
		}
		if !ok {
			t.Errorf("the %s %s is incomplete", e.Kind, e.Digest)
		}
	}
	events.check(t, 0, 0)
	work(t, dir) // the store is still usable
}
