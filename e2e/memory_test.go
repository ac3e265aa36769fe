//go:build linux

package e2e_test

import (
	"archive/zip"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	bigZip = 300 << 20
	// memoryLimit is the maximum memory that a transfer needs in addition to the idle
	// program's memory, in bytes.
	memoryLimit = 64 << 20
	// plannedLimit is the maximum memory for planning 10,000 releases, in bytes.
	plannedLimit = 200 << 20
)

// BenchmarkMirrorBigZip streams a 300 MiB zip from an origin registry to an OCI
// registry. The origin registry provides the h1 hash, so the program writes no
// temporary file, and TMPDIR does not exist. The benchmark fails if the program exceeds
// its memory limit.
//
// For comparison, regctl pushes the same bytes from a local file. No tool can need less
// time.
func BenchmarkMirrorBigZip(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "big.zip")
	makeZip(b, path, bigZip)
	origin := origintest.Release{
		Namespace: "acme", Type: "big", Version: "1.0.0", Protocols: []string{"5.0"},
		Archives: map[provider.Platform]origintest.Archive{{OS: "linux", Arch: "amd64"}: {Path: path}},
	}
	_, config := serveOrigin(b, origintest.Options{}, origin)
	idle := peakOf(b, command(b, programs.tofuOCI, "list", "acme/big", "--config", config, "--ca-file", world.caFile))
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
		most = max(most, peakOf(b, mirror))
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
		b.Errorf("mirroring used %d MiB above the idle program, want at most %d", above>>20, memoryLimit>>20)
	}
}

// BenchmarkPlanTenThousand plans 10,000 releases, like a first run that mirrors all
// versions of many providers. The benchmark fails if the program exceeds its memory
// limit.
func BenchmarkPlanTenThousand(b *testing.B) {
	const releases = 10_000
	versions := func(w http.ResponseWriter, _ *http.Request) {
		var platforms, all []string
		for i := range 12 {
			platforms = append(platforms, fmt.Sprintf(`{"os":"os%d","arch":"amd64"}`, i))
		}
		for i := range releases {
			all = append(all, fmt.Sprintf(`{"version":"1.%d.%d","protocols":["5.0","6.0"],"platforms":[%s]}`, i/100, i%100, strings.Join(platforms, ",")))
		}
		_, _ = io.WriteString(w, `{"versions":[`+strings.Join(all, ",")+"]}")
	}
	download := func(w http.ResponseWriter, r *http.Request) {
		version := path.Base(path.Dir(path.Dir(path.Dir(r.URL.Path))))
		_, _ = fmt.Fprintf(w, `{"filename":"terraform-provider-thing_%[1]s_%[3]s_amd64.zip","download_url":"/zip","shasums_url":"/SHA256SUMS?%[1]s","shasum":"%[2]s"}`, version, strings.Repeat("0", 64), path.Base(path.Dir(r.URL.Path)))
	}
	sums := func(w http.ResponseWriter, r *http.Request) {
		for i := range 12 {
			_, _ = fmt.Fprintf(w, "%s  terraform-provider-thing_%s_os%d_amd64.zip\n", strings.Repeat("0", 64), r.URL.RawQuery, i)
		}
	}
	url, stop, err := fixture.Serve(b.Context(), world.ca, http.HandlerFunc(hostile{"/versions": versions, "/download/": download, "SHA256SUMS": sums}.serve))
	if err != nil {
		b.Fatal(err)
	}
	defer stop()
	config := filepath.Join(b.TempDir(), "tofurc")
	write(b, config, fixture.CLIConfig(url))
	var most int64
	for b.Loop() {
		now, text, err := peak(b, command(b, programs.tofuOCI, "mirror", "acme/thing", "--all",
			"--dry-run", "--to", "oci-layout:"+filepath.Join(b.TempDir(), "none"), "--config", config, "--ca-file", world.caFile))
		if n := strings.Count(text, "would be created"); err != nil || n < releases {
			b.Fatalf("%d of %d releases are planned, %v: %.2000s", n, releases, err, text)
		}
		most = max(most, now)
	}
	b.ReportMetric(float64(most)/(1<<20), "MiB")
	if most > plannedLimit {
		b.Errorf("planning used %d MiB, want at most %d", most>>20, plannedLimit>>20)
	}
}

// makeZip writes a zip of about size bytes, whose content is incompressible.
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
