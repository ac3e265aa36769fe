package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// maxSyncRatio is the maximum duration of sync apply, divided by the duration of
// mirror. Single runs vary.
const maxSyncRatio = 1.15

// BenchmarkSyncApply mirrors 20 providers with five versions each to new repositories
// in the same registry, once with sync apply and once with mirror. It fails if sync
// apply takes longer than allowed. The order alternates, because the first run fills
// the system's caches.
func BenchmarkSyncApply(b *testing.B) {
	random := rand.NewChaCha8([32]byte{3})
	var releases []origintest.Release
	var providers []string
	for i := range 20 {
		typ := fmt.Sprintf("part%d", i)
		providers = append(providers, "acme/"+typ)
		for v := range 5 {
			releases = append(releases, smallRelease(b, random, typ, fmt.Sprintf("1.%d.0", v)))
		}
	}
	_, config := serveOrigin(b, origintest.Options{}, releases...)
	host, dir := startRegistry(b), b.TempDir()
	write(b, filepath.Join(dir, "providers.txt"), strings.Join(providers, "\n")+"\n")
	var synced, mirrored time.Duration
	for n := 0; b.Loop(); n++ {
		declaration := filepath.Join(dir, fmt.Sprintf("mirror%d.hcl", n))
		write(b, declaration, fmt.Sprintf("version = 1\nsources = [\"providers.txt\"]\ntarget \"main\" {\n  repository = \"%s/sync%d/{type}\"\n}\ndefaults {\n  latest = \"all\"\n}\n", host, n))
		both := [][]string{
			{"sync", "apply", declaration},
			{"mirror", "--sources", filepath.Join(dir, "providers.txt"), "--all", "--to", fmt.Sprintf("%s/mirror%d/{type}", host, n)},
		}
		if n%2 == 1 {
			slices.Reverse(both)
		}
		for _, args := range both {
			cmd := command(b, programs.tofuOCI, append(args, "--config", config, "--ca-file", world.caFile, "--quiet")...)
			began := time.Now()
			output(b, cmd)
			if args[0] == "sync" {
				synced += time.Since(began)
			} else {
				mirrored += time.Since(began)
			}
		}
	}
	ratio := synced.Seconds() / mirrored.Seconds()
	b.ReportMetric(synced.Seconds()/float64(b.N), "s/sync")
	b.ReportMetric(mirrored.Seconds()/float64(b.N), "s/mirror")
	b.ReportMetric(ratio, "x-mirror")
	if b.N > 1 && ratio > maxSyncRatio {
		b.Errorf("sync apply takes %.2f times as long as mirror", ratio)
	}
}
