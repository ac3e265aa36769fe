//go:build linux

package e2e_test

import (
	"archive/zip"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	bigZip = 300 << 20
	// memoryLimit is what a transfer may take above the idle program, in bytes.
	memoryLimit = 64 << 20
)

// BenchmarkMirrorBigZip streams one 300 MiB zip from origin to registry. The
// origin states its h1, so there is no temporary file: TMPDIR does not even
// exist. It fails when the program takes more memory than it may.
//
// For comparison in the same run, regctl pushes the same bytes from a local
// file, which is the least that any tool has to do.
func BenchmarkMirrorBigZip(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "big.zip")
	makeZip(b, path, bigZip)
	origin := origintest.Release{
		Namespace: "acme", Type: "big", Version: "1.0.0", Protocols: []string{"5.0"},
		Archives: map[provider.Platform]origintest.Archive{{OS: "linux", Arch: "amd64"}: {Path: path}},
	}
	_, config := serveOrigin(b, origintest.Options{}, origin)
	idle := peak(b, command(b, programs.tofuOCI, "list", "acme/big", "--config", config, "--ca-file", world.caFile))
	b.SetBytes(bigZip)
	var most int64
	var ours, theirs time.Duration
	for b.Loop() {
		b.StopTimer()
		host := startRegistry(b)
		mirror := command(b, programs.tofuOCI, "mirror", "acme/big", "--to", host+"/{namespace}/{type}", "--config", config, "--ca-file", world.caFile)
		mirror.Env = append(mirror.Env, "TMPDIR="+filepath.Join(dir, "not-there"))
		b.StartTimer()
		began := time.Now()
		most = max(most, peak(b, mirror))
		ours += time.Since(began)
		b.StopTimer()

		push := command(b, programs.regctl, "blob", "put", host+"/by-hand")
		content, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		push.Stdin = content
		began = time.Now()
		output(b, push)
		theirs += time.Since(began)
		_ = content.Close()
		b.StartTimer()
	}
	above := most - idle
	b.ReportMetric(float64(idle)/(1<<20), "idle-MiB")
	b.ReportMetric(float64(above)/(1<<20), "above-idle-MiB")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "x-regctl-blob-put")
	if above > memoryLimit {
		b.Errorf("mirroring took %d MiB above the idle program, %d are allowed", above>>20, memoryLimit>>20)
	}
}

// peak runs a program and gives the most memory that it held, in bytes. It
// watches the kernel's high-water mark: what wait reports includes the memory
// that this process had when it forked.
func peak(b *testing.B, cmd *exec.Cmd) (most int64) {
	b.Helper()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if m := highWater.FindSubmatch(status); err == nil && m != nil {
			kib, _ := strconv.ParseInt(string(m[1]), 10, 64)
			most = max(most, kib<<10)
		}
		select {
		case err := <-done:
			if err != nil || most == 0 {
				b.Fatalf("%s: %v, %d bytes seen", cmd, err, most)
			}
			return most
		case <-tick.C:
		}
	}
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// makeZip writes a zip of about size bytes that cannot be compressed.
func makeZip(b *testing.B, path string, size int64) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	archive := zip.NewWriter(f)
	entry, err := archive.CreateHeader(&zip.FileHeader{Name: "terraform-provider-big_v1.0.0", Method: zip.Store})
	if err == nil {
		_, err = io.CopyN(entry, rand.Reader, size)
	}
	if err == nil {
		err = archive.Close()
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
}
