package e2e_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// killSeeds is the number of runs that the test kills or interrupts for each kind of
// repository.
const killSeeds = 16

// killed returns a release with many small zips, so that a run consists of many steps.
// It also maps the zips' file names to their digests.
func killed(t *testing.T) (origintest.Release, map[string]digest.Digest) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{1})
	release := origintest.Release{Namespace: "acme", Type: "kill", Version: "1.0.0", Archives: map[provider.Platform]origintest.Archive{}}
	digests := map[string]digest.Digest{}
	for i := range 6 {
		var content bytes.Buffer
		archive := zip.NewWriter(&content)
		entry, err := archive.CreateHeader(&zip.FileHeader{Name: "terraform-provider-kill_v1.0.0", Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(entry, random, 2<<20); err != nil {
			t.Fatal(err)
		}
		if err := archive.Close(); err != nil {
			t.Fatal(err)
		}
		p := provider.Platform{OS: "plan9", Arch: fmt.Sprintf("arch%d", i)}
		release.Archives[p] = origintest.Archive{Bytes: content.Bytes()}
		digests[fmt.Sprintf("terraform-provider-kill_1.0.0_%s.zip", p)] = digest.FromBytes(content.Bytes())
	}
	return release, digests
}

// TestKilledRuns kills mirror and pull at random times. In every second run, it
// interrupts them with Ctrl-C instead. After each run, the graph of every tag must be
// complete, every file with a final name must be correct, and the next run must
// succeed. After Ctrl-C, no temporary files may remain. The next run must remove old
// temporary files of a killed run.
func TestKilledRuns(t *testing.T) {
	t.Parallel()
	release, digests := killed(t)
	_, config := serveOrigin(t, origintest.Options{}, release)
	host := startRegistry(t)
	within := duration(t, "mirror", "acme/kill", "--to", host+"/undisturbed/{type}", "--config", config, "--ca-file", world.caFile)
	var cut atomic.Int32
	t.Cleanup(func() {
		t.Logf("%d of %d mirror runs were killed before their tag, within %s", cut.Load(), 2*killSeeds, within)
		if cut.Load() == 0 {
			t.Error("no run was killed before it wrote its tag")
		}
	})
	for _, kind := range []string{"layout", "registry"} {
		for seed := range killSeeds {
			t.Run(fmt.Sprintf("%s/%d", kind, seed), func(t *testing.T) {
				t.Parallel()
				repository := fmt.Sprintf("%s/kill%d/{type}", host, seed)
				layout := t.TempDir()
				if kind == "layout" {
					repository = "oci-layout:" + filepath.ToSlash(layout) + "/{type}"
				}
				random := rand.New(rand.NewPCG(uint64(seed), 2))
				signal := []os.Signal{os.Kill, os.Interrupt}[seed%2]
				// 1. Kill mirror runs. After each run, the tag is either complete or
				// missing.
				mirror := []string{"mirror", "acme/kill", "--to", repository, "--config", config, "--ca-file", world.caFile, "--quiet"}
				stop(t, signal, random.Int64N(int64(within)), layout, mirror...)
				tagged := versions(t, repository)
				if len(tagged) == 0 {
					cut.Add(1)
				} else {
					pullAll(t, repository, t.TempDir(), digests)
				}
				// 2. Run mirror to completion.
				run(t, programs.tofuOCI, mirror...)
				checkTemporary(t, layout)
				// 3. Kill pull runs. After each run, files with a final name are
				// correct.
				dir := t.TempDir()
				stop(t, signal, random.Int64N(int64(within)), dir, pullArgs(repository, dir)...)
				checkFiles(t, dir, digests)
				// 4. Run pull to completion.
				pullAll(t, repository, dir, digests)
				checkTemporary(t, dir)
			})
		}
	}
}

// duration returns the duration of a complete run.
func duration(t *testing.T, args ...string) time.Duration {
	t.Helper()
	began := time.Now()
	run(t, programs.tofuOCI, args...)
	return time.Since(began)
}

// stop runs tofu-oci, which writes to dir, and sends it a signal after the given number
// of nanoseconds. Afterward, stop sets the modification time of temporary files in dir
// to two days ago.
func stop(t *testing.T, signal os.Signal, after int64, dir string, args ...string) {
	t.Helper()
	cmd := command(t, programs.tofuOCI, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Duration(after), func() { _ = cmd.Process.Signal(signal) })
	defer timer.Stop()
	_ = cmd.Wait()
	switch code := cmd.ProcessState.ExitCode(); {
	case code == 130: // the program was interrupted
		checkTemporary(t, dir)
	case code > 0:
		t.Errorf("exit code %d", code)
	}
	// Temporary files can remain if the process was killed, or interrupted before it
	// started its work.
	for _, path := range temporary(t, dir) {
		old := time.Now().AddDate(0, 0, -2)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// checkTemporary checks that no temporary files remain below a directory.
func checkTemporary(t *testing.T, dir string) {
	t.Helper()
	if left := temporary(t, dir); len(left) > 0 {
		t.Errorf("temporary files were left: %q", left)
	}
}

func temporary(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// versions returns a repository's tags. If the repository does not exist, versions
// returns nil.
func versions(t *testing.T, repository string) []string {
	t.Helper()
	cmd := command(t, programs.tofuOCI, "list", "acme/kill", "--from", repository, "--ca-file", world.caFile, "--output", "json")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if cmd.ProcessState.ExitCode() == 5 {
			return nil
		}
		t.Fatalf("the repository cannot be read: %v\n%s", err, &stderr)
	}
	var listed struct{ Items []struct{ Version string } }
	if err := json.Unmarshal(stdout.Bytes(), &listed); err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, i := range listed.Items {
		versions = append(versions, i.Version)
	}
	return versions
}

func pullArgs(repository, dir string) []string {
	args := []string{"pull", "acme/kill@1.0.0", "--from", repository, "--dir", dir, "--ca-file", world.caFile, "--quiet"}
	for i := range 6 {
		args = append(args, "--platform", fmt.Sprintf("plan9_arch%d", i))
	}
	return args
}

// pullAll pulls all platforms, which verifies the complete graph.
func pullAll(t *testing.T, repository, dir string, digests map[string]digest.Digest) {
	t.Helper()
	run(t, programs.tofuOCI, pullArgs(repository, dir)...)
	if found := checkFiles(t, dir, digests); found != len(digests) {
		t.Errorf("got %d files, want %d", found, len(digests))
	}
}

// checkFiles checks every zip with a final name.
func checkFiles(t *testing.T, dir string, digests map[string]digest.Digest) (found int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".tmp") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found++
		if digest.FromBytes(content) != digests[entry.Name()] {
			t.Errorf("%s has wrong bytes", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
