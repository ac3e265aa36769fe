//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"

	"github.com/tofu-oci/tofu-oci/e2e/page"
)

// measured contains the throughput of one way to download the archive, in bytes per
// second. ours and theirs contain one value per round for tofu-oci and nginx.
type measured struct {
	name         string
	ours, theirs []float64
}

// ratio returns tofu-oci's median throughput divided by nginx's.
func (m measured) ratio() float64 { return page.Median(m.ours) / page.Median(m.theirs) }

// measureArchives downloads the archive from both servers in turn. A warm-up round
// fills the page cache and the store.
func (w *world) measureArchives(ctx context.Context, rounds int) (all []measured, err error) {
	for _, from := range []struct{ name, url string }{
		{"from an image layout", w.layout.URL + w.path}, {"from a warm store", w.warm.URL + w.path},
	} {
		for _, protocol := range []struct{ name, flag string }{{"HTTP/1.1", "--http1.1"}, {"HTTP/2", "--http2"}} {
			m := measured{name: from.name + ", " + protocol.name}
			for round := range rounds + 1 {
				ours, err := w.get(ctx, from.url, protocol.flag)
				if err != nil {
					return nil, err
				}
				theirs, err := w.get(ctx, w.nginxURL, protocol.flag)
				if err != nil {
					return nil, err
				}
				say("%s, %d of %d: tofu-oci %.0f MB/s, nginx %.0f MB/s", m.name, round, rounds, ours/1e6, theirs/1e6)
				if round > 0 {
					m.ours, m.theirs = append(m.ours, ours), append(m.theirs, theirs)
				}
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// get downloads a URL and returns the throughput in bytes per second. It sets the
// cipher that Go prefers, because otherwise, curl and nginx would agree on a different
// cipher.
func (w *world) get(ctx context.Context, url, protocol string) (float64, error) {
	var text, trouble bytes.Buffer
	cmd := exec.CommandContext(ctx, w.curl, "--silent", "--show-error", "--fail", "--disable", "--cacert", w.caFile, protocol,
		"--tls13-ciphers", "TLS_AES_128_GCM_SHA256", "--output", "/dev/null", "--write-out", "%{size_download} %{speed_download}", url)
	cmd.Stdout, cmd.Stderr = &text, &trouble
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", url, err, trouble.Bytes())
	}
	size, speed, _ := bytes.Cut(text.Bytes(), []byte(" "))
	if want := strconv.Itoa(archiveSize); string(size) != want {
		return 0, fmt.Errorf("%s: received %s bytes, want %s", url, size, want)
	}
	return strconv.ParseFloat(string(speed), 64)
}
