package e2e_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// killSeeds is the number of runs that the test kills or interrupts for each kind of
	// repository.
	killSeeds = 16
	killZips  = 6
	killZip   = 2 << 20 // bytes without the zip format
)

// part returns the part of a total amount after which the run with the number seed is
// killed. The parts increase evenly from 1 to the total.
func part(total, seed int64) int64 { return max(1, total*seed/(killSeeds-1)) }

// killed returns a release with many small zips, so that a run consists of many steps.
// It also maps the zips' file names to their digests.
func killed(t *testing.T) (origintest.Release, map[string]digest.Digest) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{1})
	release := origintest.Release{Namespace: "acme", Type: "kill", Version: "1.0.0", Archives: map[provider.Platform]origintest.Archive{}}
	digests := map[string]digest.Digest{}
	for i := range killZips {
		var content bytes.Buffer
		archive := zip.NewWriter(&content)
		entry, err := archive.CreateHeader(&zip.FileHeader{Name: "terraform-provider-kill_v1.0.0", Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(entry, random, killZip); err != nil {
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

// TestKilledRuns kills mirror and pull at different steps. In every second run, it
// interrupts them with Ctrl-C instead. After each run, the graph of every tag must be
// complete, every file with a final name must be correct, and the next run must
// succeed. After Ctrl-C, no temporary files may remain. The next run must remove old
// temporary files of a killed run.
func TestKilledRuns(t *testing.T) {
	t.Parallel()
	release, digests := killed(t)
	origin := origintest.New(origintest.Options{})
	if err := origin.Add(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	host := startRegistry(t)
	var cut atomic.Int32
	t.Cleanup(func() {
		t.Logf("%d of %d mirror runs were killed before their tag", cut.Load(), 2*killSeeds)
		if cut.Load() == 0 {
			t.Error("no run was killed before it wrote its tag")
		}
	})
	for _, kind := range []string{"layout", "registry"} {
		// mirrorTo and pullFrom return the arguments of a run whose transfers take steps.
		mirrorTo := func(t *testing.T, s *steps, repository string) []string {
			t.Helper()
			config := filepath.Join(t.TempDir(), "origin.tofurc")
			write(t, config, fixture.CLIConfig(s.serve(t, origin)))
			return []string{"mirror", "acme/kill", "--to", s.through(t, host, repository), "--config", config, "--ca-file", world.caFile, "--quiet"}
		}
		pullFrom := func(t *testing.T, s *steps, repository, dir string) []string {
			t.Helper()
			return pullArgs(s.through(t, host, repository), dir)
		}
		// 1. Count the steps of complete runs.
		undisturbed, whole := host+"/undisturbed/{type}", t.TempDir()
		if kind == "layout" {
			undisturbed = "oci-layout:" + filepath.ToSlash(whole) + "/{type}"
		}
		mirroring, pulling := newSteps(0), newSteps(0)
		run(t, programs.tofuOCI, mirrorTo(t, mirroring, undisturbed)...)
		run(t, programs.tofuOCI, pullFrom(t, pulling, undisturbed, t.TempDir())...)
		for seed := range int64(killSeeds) {
			t.Run(fmt.Sprintf("%s/%d", kind, seed), func(t *testing.T) {
				t.Parallel()
				repository, layout := fmt.Sprintf("%s/kill%d/{type}", host, seed), t.TempDir()
				if kind == "layout" {
					repository = "oci-layout:" + filepath.ToSlash(layout) + "/{type}"
				}
				signal := []os.Signal{os.Kill, os.Interrupt}[seed%2]
				// 2. Kill mirror runs. After each run, the tag is either complete or
				// missing.
				s := newSteps(part(mirroring.taken.Load(), seed))
				if kind == "layout" && seed%4 > 1 {
					s = newSteps(0)
					s.watch(t, layout, part(written(whole), seed))
				}
				stop(t, signal, s, layout, mirrorTo(t, s, repository)...)
				tagged := versions(t, repository)
				if len(tagged) == 0 {
					cut.Add(1)
				} else {
					pullAll(t, repository, t.TempDir(), digests)
				}
				// 3. Run mirror to completion.
				run(t, programs.tofuOCI, mirrorTo(t, newSteps(0), repository)...)
				checkTemporary(t, layout)
				// 4. Kill pull runs. After each run, files with a final name are
				// correct.
				dir := t.TempDir()
				s = newSteps(part(pulling.taken.Load(), seed))
				if kind == "layout" {
					s = newSteps(0)
					s.watch(t, dir, part(killZips*killZip, seed))
				}
				stop(t, signal, s, dir, pullFrom(t, s, repository, dir)...)
				checkFiles(t, dir, digests)
				// 5. Run pull to completion.
				pullAll(t, repository, dir, digests)
				checkTemporary(t, dir)
			})
		}
	}
}

// steps counts the requests of a program, and the reads and writes of their bodies. At
// the last step, all requests wait until the program has exited, so that the program
// can't continue before it receives a signal.
type steps struct {
	// last is the number of the last step. If last is 0, the number of steps is unlimited.
	last            int64
	taken           atomic.Int64
	reached, exited chan struct{}
}

func newSteps(last int64) *steps {
	return &steps{last: last, reached: make(chan struct{}), exited: make(chan struct{})}
}

func (s *steps) take() {
	n := s.taken.Add(1)
	if n == s.last {
		close(s.reached)
	}
	if s.last > 0 && n >= s.last {
		<-s.exited
	}
}

// serve serves a handler whose requests take steps, and returns its URL.
func (s *steps) serve(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	url, stop, err := fixture.Serve(t.Context(), world.ca, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.take()
		r.Body = stepReader{r.Body, s}
		h.ServeHTTP(stepWriter{w, s}, r)
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

// through returns a repository in the registry at host, with the host of a proxy whose
// requests take steps. It returns image layouts unchanged.
func (s *steps) through(t *testing.T, host, repository string) string {
	t.Helper()
	if !strings.HasPrefix(repository, host) {
		return repository
	}
	url := s.serve(t, registryProxy("https://"+host))
	return strings.TrimPrefix(url, "https://") + strings.TrimPrefix(repository, host)
}

// watch reaches the last step when the program has written a number of bytes to files in
// a directory. Writing a file takes no step, so watch polls.
func (s *steps) watch(t *testing.T, dir string, bytes int64) {
	t.Helper()
	bytes += written(dir)
	go func() {
		for written(dir) < bytes {
			select {
			case <-s.exited:
				return
			case <-time.After(time.Millisecond):
			}
		}
		close(s.reached)
	}()
}

func written(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil {
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
				bytes += info.Size()
			}
		}
		return nil // the program renames files
	})
	return bytes
}

type stepReader struct {
	io.ReadCloser
	s *steps
}

func (r stepReader) Read(b []byte) (int, error) {
	r.s.take()
	return r.ReadCloser.Read(b)
}

type stepWriter struct {
	http.ResponseWriter
	s *steps
}

func (w stepWriter) Write(b []byte) (int, error) {
	w.s.take()
	return w.ResponseWriter.Write(b)
}

// stop runs tofu-oci, which writes to dir, and sends it a signal at the last step.
// Afterward, stop sets the modification time of temporary files in dir to two days ago.
func stop(t *testing.T, signal os.Signal, s *steps, dir string, args ...string) {
	t.Helper()
	cmd := command(t, programs.tofuOCI, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.exited)
		_ = cmd.Wait()
	}()
	select {
	case <-s.reached:
		_ = cmd.Process.Signal(signal)
	case <-s.exited: // this run took fewer steps
	}
	<-s.exited
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
	for i := range killZips {
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
