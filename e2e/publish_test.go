//go:build unix

package e2e_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// dist is what goreleaser leaves: the zips, their sums and the signature.
func dist(t *testing.T, platforms ...provider.Platform) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range platforms {
		path := world.release.Archives[p].Path
		if err := os.Link(path, filepath.Join(dir, filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestPublishWithSyft publishes what was built with SBOMs that the real Syft
// makes; OpenTofu installs it, and the SBOM comes back as it was written.
func TestPublishWithSyft(t *testing.T) {
	t.Parallel()
	host := startRegistry(t)
	dir, kept := dist(t, world.platforms...), t.TempDir()
	sums := filepath.Join(dir, "terraform-provider-time_"+fixture.TimeVersion+"_SHA256SUMS")
	write(t, sums, string(world.release.Sums))
	write(t, sums+".sig", string(world.release.Signature))
	// A program of one's own around Syft, which keeps a copy to compare with.
	script := filepath.Join(t.TempDir(), "sbom")
	write(t, script, fmt.Sprintf("#!/bin/sh\nset -e\n%q scan \"file:$1\" -q -o spdx-json > %q/$2.json\ncat %q/$2.json\n", programs.syft, kept, kept))
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	to := host + "/published/{namespace}/{type}"
	publish := []string{
		"publish", dir, "--provider", "hashicorp/time", "--to", to, "--ca-file", world.caFile, "--output", "json",
		"--sbom-program", script + " {binary} sbom",
	}

	first := parse(t, run(t, programs.tofuOCI, append(publish, "--concurrency", "1")...))
	if got := first.Results[0].Status; got != "created" {
		t.Errorf("the first run says %q", got)
	}
	made, err := os.Stat(filepath.Join(kept, "sbom.json"))
	if err != nil {
		t.Fatal(err)
	}
	again := parse(t, run(t, programs.tofuOCI, publish...))
	if got := again.Results[0]; got.Status != "unchanged" || got.Digest != first.Results[0].Digest {
		t.Errorf("the second run says %q %s", got.Status, got.Digest)
	}
	if now, err := os.Stat(filepath.Join(kept, "sbom.json")); err != nil || !now.ModTime().Equal(made.ModTime()) {
		t.Errorf("the second run made an SBOM again (%v)", err)
	}
	installFrom(t, to, first)

	// The last package that Syft saw is the last in order.
	last := world.platforms[len(world.platforms)-1]
	out := t.TempDir()
	run(t, programs.tofuOCI, "pull", "hashicorp/time", "--from", to, "--dir", out, "--with-evidence", "--platform", last.String(), "--ca-file", world.caFile)
	want, err := os.ReadFile(filepath.Join(kept, "sbom.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(out, fmt.Sprintf("terraform-provider-time_%s_%s.spdx.json", fixture.TimeVersion, last)))
	if err != nil || !bytes.Equal(got, want) || !bytes.Contains(got, []byte("terraform-provider-time")) {
		t.Errorf("the SBOM that came back is not the one that Syft made (%v)", err)
	}
	signature, err := os.ReadFile(filepath.Join(out, filepath.Base(sums)+".sig"))
	if err != nil || !bytes.Equal(signature, world.release.Signature) {
		t.Errorf("the signature that came back is not the one that was published (%v)", err)
	}
}

// installFrom lets OpenTofu install over the block that tofurc prints.
func installFrom(t *testing.T, to string, r report) {
	t.Helper()
	dir, _ := initialize(t, run(t, programs.tofuOCI, "tofurc", to))
	zh, _ := r.hashes(t)
	checkLock(t, dir, zh)
}

// TestBuildMatrix lets the jobs of a matrix publish one platform each at the
// same time, as processes of their own: no platform is lost.
func TestBuildMatrix(t *testing.T) {
	t.Parallel()
	host := startRegistry(t)
	for round := range 3 {
		to := fmt.Sprintf("%s/matrix%d/{type}", host, round)
		var jobs sync.WaitGroup
		for _, p := range world.platforms {
			job := command(t, programs.tofuOCI, "publish", dist(t, p), "--provider", "hashicorp/time", "--to", to, "--ca-file", world.caFile)
			jobs.Go(func() {
				if said, err := job.CombinedOutput(); err != nil {
					t.Errorf("publishing %s: %v\n%s", p, err, said)
				}
			})
		}
		jobs.Wait()
		listed := run(t, programs.tofuOCI, "list", "hashicorp/time@"+fixture.TimeVersion, "--from", to, "--ca-file", world.caFile)
		for _, p := range world.platforms {
			if !strings.Contains(listed, p.String()+" ") {
				t.Errorf("round %d lost %s:\n%s", round, p, listed)
			}
		}
	}
}

// TestLayoutCopiedByAnotherTool: what publish writes into a layout stands by
// itself, so that regctl can carry it to a registry.
func TestLayoutCopiedByAnotherTool(t *testing.T) {
	t.Parallel()
	host := startRegistry(t)
	layout := filepath.Join(t.TempDir(), "time")
	published := parse(t, run(t, programs.tofuOCI, "publish", dist(t, world.platforms...), "--provider", "hashicorp/time",
		"--to", "oci-layout:"+layout, "--output", "json"))
	run(t, programs.regctl, "image", "copy", "ocidir://"+layout+":"+fixture.TimeVersion, host+"/copied/time:"+fixture.TimeVersion)
	copied := host + "/copied/{type}"
	dir, _ := initialize(t, run(t, programs.tofuOCI, "tofurc", copied, "hashicorp/*"))
	zh, _ := published.hashes(t)
	checkLock(t, dir, zh)
	if text := run(t, programs.tofuOCI, "pull", "hashicorp/time", "--from", copied, "--dir", t.TempDir(), "--ca-file", world.caFile); !strings.Contains(text, "checksum ok") {
		t.Errorf("pull did not find the sums:\n%s", text)
	}
}

// TestScriptProvider: a provider need not be a binary.
func TestScriptProvider(t *testing.T) {
	t.Parallel()
	here := provider.CurrentPlatform()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("terraform-provider-script_1.0.0_%s.zip", here)))
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(f)
	for _, file := range []struct {
		name, text string
		mode       os.FileMode
	}{
		{"terraform-provider-script_v1.0.0", "#!/bin/sh\ncd \"$(dirname \"$0\")\"\n./lib/say \"$(cat lib/greeting)\" \"$(cat NAME)\"\n", 0o755},
		{"lib/say", "#!/bin/sh\necho \"$1, $2\"\n", 0o755},
		{"lib/greeting", "hello", 0o644},
		{"NAME", "provider", 0o644},
	} {
		header := &zip.FileHeader{Name: file.name, Method: zip.Deflate}
		header.SetMode(file.mode)
		w, err := archive.CreateHeader(header)
		if err == nil {
			_, err = w.Write([]byte(file.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	layout := "oci-layout:" + filepath.Join(t.TempDir(), "{type}")
	run(t, programs.tofuOCI, "publish", dir, "--provider", "example.com/acme/script", "--to", layout)
	r := parse(t, run(t, programs.tofuOCI, "pull", "example.com/acme/script", "--from", layout, "--dir", t.TempDir(), "--layout", "unpacked", "--output", "json"))
	if said := run(t, filepath.Join(r.Results[0].Packages[0].Path, "terraform-provider-script_v1.0.0")); said != "hello, provider\n" {
		t.Errorf("the provider says %q", said)
	}
}
