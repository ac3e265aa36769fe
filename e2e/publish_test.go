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

// dist returns a directory that contains goreleaser's output: the zips, SHA256SUMS, and
// the signature.
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

// TestPublishWithSyft publishes zips with SBOMs that the real Syft generates. It then
// installs the release with OpenTofu and checks that the downloaded SBOM is unchanged.
func TestPublishWithSyft(t *testing.T) {
	t.Parallel()
	host := startRegistry(t)
	dir, kept := dist(t, world.platforms...), t.TempDir()
	sums := filepath.Join(dir, "terraform-provider-time_"+fixture.TimeVersion+"_SHA256SUMS")
	write(t, sums, string(world.release.Sums))
	write(t, sums+".sig", string(world.release.Signature))
	// The script runs Syft and keeps a copy of the SBOM for comparison.
	script := filepath.Join(t.TempDir(), "sbom")
	write(t, script, fmt.Sprintf("#!/bin/sh\nset -e\n%q scan \"file:$1\" -q -o spdx-json > %q/$2.json\ncat %q/$2.json\n", programs.syft, kept, kept))
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	to := host + "/published/{namespace}/{type}"
	publish := []string{
		"publish", dir, "--provider", "hashicorp/time", "--to", to, "--ca-file", world.caFile, "--output", "json",
		"--sbom", script + " {binary} sbom",
	}

	first := parse(t, run(t, programs.tofuOCI, append(publish, "--concurrency", "1")...))
	if got := first.Items[0].Status; got != "created" {
		t.Errorf("unexpected status of the first run: %q", got)
	}
	made, err := os.Stat(filepath.Join(kept, "sbom.json"))
	if err != nil {
		t.Fatal(err)
	}
	again := parse(t, run(t, programs.tofuOCI, publish...))
	if got := again.Items[0]; got.Status != "unchanged" || got.Digest != first.Items[0].Digest {
		t.Errorf("unexpected result of the second run: %q %s", got.Status, got.Digest)
	}
	if now, err := os.Stat(filepath.Join(kept, "sbom.json")); err != nil || !now.ModTime().Equal(made.ModTime()) {
		t.Errorf("the second run generated an SBOM again (%v)", err)
	}
	installFrom(t, to, first)

	// With one worker, publish runs Syft in the order of the packages, so the copy is
	// the SBOM of the last package.
	last := world.platforms[len(world.platforms)-1]
	out := t.TempDir()
	run(t, programs.tofuOCI, "pull", "hashicorp/time", "--from", to, "--dir", out, "--with-documents", "--platform", last.String(), "--ca-file", world.caFile)
	want, err := os.ReadFile(filepath.Join(kept, "sbom.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(out, fmt.Sprintf("terraform-provider-time_%s_%s.spdx.json", fixture.TimeVersion, last)))
	if err != nil || !bytes.Equal(got, want) || !bytes.Contains(got, []byte("terraform-provider-time")) {
		t.Errorf("the pulled SBOM differs from the one that Syft generated (%v)", err)
	}
	signature, err := os.ReadFile(filepath.Join(out, filepath.Base(sums)+".sig"))
	if err != nil || !bytes.Equal(signature, world.release.Signature) {
		t.Errorf("the pulled signature differs from the published one (%v)", err)
	}
}

// installFrom installs the release with OpenTofu. The CLI configuration contains the
// block that tofurc prints.
func installFrom(t *testing.T, to string, r report) {
	t.Helper()
	dir, _ := initialize(t, run(t, programs.tofuOCI, "tofurc", to))
	zh, _ := r.hashes(t)
	checkLock(t, dir, zh)
}

// TestBuildMatrix starts several concurrent processes, like the jobs of a build matrix.
// Each process publishes one platform. The test checks that no platform is lost.
func TestBuildMatrix(t *testing.T) {
	t.Parallel()
	host := startRegistry(t)
	for round := range 3 {
		to := fmt.Sprintf("%s/matrix%d/{type}", host, round)
		var jobs sync.WaitGroup
		for _, p := range world.platforms {
			job := command(t, programs.tofuOCI, "publish", dist(t, p), "--provider", "hashicorp/time", "--to", to, "--ca-file", world.caFile)
			jobs.Go(func() {
				if printed, err := job.CombinedOutput(); err != nil {
					t.Errorf("publishing %s: %v\n%s", p, err, printed)
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

// TestLayoutCopiedByAnotherTool writes an image layout with publish, and checks that
// regctl can copy the layout to a registry.
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
		t.Errorf("pull did not find the checksums:\n%s", text)
	}
}

// TestScriptProvider checks that publish accepts a provider whose executable is a
// script.
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
	if printed := run(t, filepath.Join(r.Items[0].Packages[0].Path, "terraform-provider-script_v1.0.0")); printed != "hello, provider\n" {
		t.Errorf("unexpected output of the provider: %q", printed)
	}
}
