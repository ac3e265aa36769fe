package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// maxPullRatio is the maximum duration of module pull, divided by the duration of oras
// pull and unzip.
const maxPullRatio = 1.2

// BenchmarkModulePull pulls a module with 1,000 files, once with module pull and once
// with oras pull and unzip. It fails if module pull takes longer than allowed. It is
// skipped without the program ORAS.
func BenchmarkModulePull(b *testing.B) {
	oras := os.Getenv("ORAS")
	if _, err := exec.LookPath("unzip"); oras == "" || err != nil {
		b.Skip("ORAS is not set, or unzip is not installed")
	}
	repository, dir := startRegistry(b)+"/acme/vpc", b.TempDir()
	line := strings.Repeat("# a comment of a typical length, repeated until the file has 4 kB\n", 60)
	for i := range 1000 {
		write(b, filepath.Join(dir, fmt.Sprintf("file%03d.tf", i)), fmt.Sprintf("variable \"v%d\" {}\n%s", i, line))
	}
	run(b, programs.tofuOCI, "module", "push", dir, "--to", repository, "--version", "1.0.0", "--ca-file", world.caFile)
	var ours, theirs []time.Duration
	for b.Loop() {
		out := b.TempDir()
		pulled := command(b, oras, "pull", "--plain-http=false", "--ca-file", world.caFile, "--output", out, repository+":1.0.0")
		unzipped := command(b, "unzip", "-q", "-d", filepath.Join(out, "theirs"), filepath.Join(out, "vpc_1.0.0.zip"))
		began := time.Now()
		output(b, pulled)
		output(b, unzipped)
		theirs = append(theirs, time.Since(began))
		began = time.Now()
		run(b, programs.tofuOCI, "module", "pull", "oci://"+repository+"@1.0.0", "--dir", filepath.Join(out, "ours"), "--ca-file", world.caFile)
		ours = append(ours, time.Since(began))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	ratio := ours[len(ours)/2].Seconds() / theirs[len(theirs)/2].Seconds()
	b.ReportMetric(ours[len(ours)/2].Seconds(), "s/pull")
	b.ReportMetric(ratio, "pull/oras+unzip")
	if ratio > maxPullRatio {
		b.Errorf("module pull takes %.2f times as long as oras pull and unzip, want at most %.1f", ratio, maxPullRatio)
	}
}
