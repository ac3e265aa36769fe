//go:build linux

package e2e_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// BenchmarkVerifyTwoThousand verifies 2,000 packages in a registry, both with and
// without reading the packages. The benchmark fails if the program exceeds its memory
// limit.
func BenchmarkVerifyTwoThousand(b *testing.B) {
	const versions, platforms = 200, 10
	var releases []origintest.Release
	for v := range versions {
		r := origintest.Release{
			Namespace: "acme", Type: "thing", Version: fmt.Sprintf("1.%d.0", v), Protocols: []string{"5.0"},
			Archives: map[provider.Platform]origintest.Archive{},
		}
		for p := range platforms {
			r.Archives[provider.Platform{OS: fmt.Sprintf("os%d", p), Arch: "amd64"}] = origintest.Archive{Bytes: smallZip(b, fmt.Sprintf("%d for %d", v, p))}
		}
		releases = append(releases, r)
	}
	_, config := serveOrigin(b, origintest.Options{}, releases...)
	repo := startRegistry(b) + "/{namespace}/{type}"
	idle := peakOf(b, command(b, programs.tofuOCI, "list", "acme/thing", "--config", config, "--ca-file", world.caFile))
	peakOf(b, command(b, programs.tofuOCI, "mirror", "acme/thing", "--all", "--to", repo, "--config", config, "--ca-file", world.caFile))
	for name, flags := range map[string][]string{"as-it-is": nil, "deep": {"--check-level", "deep"}, "against-origin": {"--against-origin"}} {
		b.Run(name, func(b *testing.B) {
			var most int64
			for b.Loop() {
				args := append([]string{"verify", "acme/thing", "--all", "--from", repo, "--signatures", "off", "--config", config, "--ca-file", world.caFile}, flags...)
				now, text, err := peak(b, command(b, programs.tofuOCI, args...))
				if want := fmt.Sprintf("%d releases: 0 errors, 0 warnings, 0 notes", versions); err != nil || !strings.Contains(text, want) {
					b.Fatalf("%v: %.2000s", err, text)
				}
				most = max(most, now)
			}
			above := most - idle
			b.ReportMetric(float64(idle)/(1<<20), "idle-MiB")
			b.ReportMetric(float64(above)/(1<<20), "above-idle-MiB")
			if above > memoryLimit {
				b.Errorf("verifying used %d MiB above the idle program, want at most %d", above>>20, memoryLimit>>20)
			}
		})
	}
}

func smallZip(b *testing.B, text string) []byte {
	b.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	entry, err := w.Create("terraform-provider-thing")
	if err == nil {
		_, err = entry.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}
