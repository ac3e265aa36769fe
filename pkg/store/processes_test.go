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

// Environment variables of the processes that tests start.
const (
	envStore = "TEST_STORE"
	envHang  = "TEST_STORE_HANG"
)

// TestWork is what the other processes do; as a test of its own it works alone.
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

// work keeps, takes and prunes what others keep, take and prune.
func work(t *testing.T, dir string) {
	t.Helper()
	s, said := open(t, dir, false)
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
			if err := tree.CopyTo(t.Context(), to); err != nil {
				t.Errorf("copying what is in use: %v", err)
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
	said.check(t, 0, 0)
}

// step is what a worker prints after each round.
const step = "STEP"

// hang keeps half of a zip, says so and waits to be killed.
func hang(t *testing.T, dir string) {
	t.Helper()
	s, _ := open(t, dir, false)
	reader, _ := io.Pipe()
	body := s.Keep(digest.FromString("content"), 7, io.NopCloser(io.MultiReader(strings.NewReader("con"), reader)))
	_, _ = io.CopyN(io.Discard, body, 3)
	_, _ = os.Stdout.WriteString("HALF\n")
	_, _ = io.Copy(io.Discard, body)
}

// worker is another process.
func worker(t *testing.T, dir string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestWork$")
	cmd.Env = append(append(os.Environ(), envStore+"="+dir), env...)
	return cmd
}

// TestProcessesAtOnce: whatever several processes do at the same time, nobody gets
// wrong bytes, finds damage that is none, or loses what it is copying.
func TestProcessesAtOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store") // which they race to make
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

// TestKilledHalfWay: nothing half-written is ever found, and what is left is swept
// when it is a day old.
func TestKilledHalfWay(t *testing.T) {
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
	s, said := open(t, dir, false)
	if _, ok := take(t, s, digest.FromString("content")); ok {
		t.Error("half of it is there")
	}
	at := time.Now().Add(-25 * time.Hour)
	must(t, os.Chtimes(left[0], at, at))
	keep(t, s, "content")
	checkTaken(t, s, "content")
	noLitter(t, dir)
	said.check(t, 0, 0)
}

// TestKilledAtRandom: whatever a killed process was doing, what has a name is whole.
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
	s, said := open(t, dir, true)
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
			t.Errorf("the %s %s is not whole", e.Kind, e.Digest)
		}
	}
	said.check(t, 0, 0)
	work(t, dir) // and it goes on
}
