package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestTakeover simulates two attacks: by a compromised origin registry, and then by a
// malicious administrator of the OCI registry.
func TestTakeover(t *testing.T) {
	t.Parallel()
	s := newSigning(t)
	author := s.signedRelease("drill", "1.0.0", "", by("rsa"))
	author.Keys = []string{s.public["rsa"]}
	origin, config := serveOrigin(t, origintest.Options{}, author)
	host := startRegistry(t)
	tofuOCI := func(want int, args ...string) (output string) {
		t.Helper()
		cmd := command(t, programs.tofuOCI, append(args, "--config", config, "--ca-file", world.caFile)...)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("tofu-oci %s: exit code %d, want %d (%v)\n%s", strings.Join(args, " "), code, want, err, out)
		}
		return string(out)
	}

	// 1. Mirror the authentic release, and pin its key on the first use.
	pinned, unpinned := host+"/pinned/{type}", host+"/unpinned/{type}"
	pins := filepath.Join(t.TempDir(), "trust.hcl")
	for _, to := range []string{pinned, unpinned} {
		tofuOCI(0, "mirror", "acme/drill", "--to", to)
	}
	tofuOCI(0, "trust", "init", "acme/drill", "--from", pinned, "--trust", pins)
	tofuOCI(0, "pull", "acme/drill", "--from", pinned, "--trust", pins, "--signatures", "require", "--dir", t.TempDir())

	// 2. Offer a new version in the origin registry. It contains different content and
	// is signed with a different key.
	thief := s.signedRelease("drill", "1.1.0", "stolen", by("ed"))
	thief.Keys = []string{s.public["ed"]}
	if err := origin.Add(t.Context(), thief); err != nil {
		t.Fatal(err)
	}
	if output := tofuOCI(4, "mirror", "acme/drill", "--to", pinned, "--trust", pins); !strings.Contains(output, "to different keys") {
		t.Errorf("unexpected output for the pinned mirror:\n%s", output)
	}
	if output := tofuOCI(0, "list", "acme/drill", "--from", pinned); strings.TrimSpace(output) != "1.0.0" {
		t.Errorf("unexpected versions in the pinned mirror:\n%s", output)
	}
	if output := tofuOCI(0, "mirror", "acme/drill", "--to", unpinned); !strings.Contains(output, "the key has changed: the existing version 1.0.0") {
		t.Errorf("unexpected output for the unpinned mirror:\n%s", output)
	}
	tofuOCI(4, "verify", "acme/drill", "--all", "--from", unpinned, "--trust", pins)
	tofuOCI(4, "pull", "acme/drill", "--from", unpinned, "--trust", pins, "--dir", t.TempDir())

	// 3. Replace the zip, the checksums, the signature, and the keys in the OCI
	// registry, in all combinations.
	stolen := s.signedRelease("drill", "1.0.0", "stolen", by("ed"))
	stolen.Keys = []string{s.public["ed"]}
	for swap := range 16 {
		layout := tampered(t, author, stolen, swap)
		dir := filepath.Join(t.TempDir(), "out")
		want := 4
		if swap == 0 {
			want = 0
		}
		output := tofuOCI(want, "pull", "acme/drill", "--from", "oci-layout:"+layout, "--trust", pins, "--dir", dir)
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) == (want == 0) {
			t.Errorf("swapped %04b: unexpected files (%v)\n%s", swap, err, output)
		}
	}

	// 4. Store an old release, whose signature is valid, under a new version.
	old := filepath.ToSlash(t.TempDir())
	store(t, old, "2.0.0", author)
	if output := tofuOCI(4, "pull", "acme/drill@2.0.0", "--from", "oci-layout:"+old, "--trust", pins, "--dir", t.TempDir()); !strings.Contains(output, "is the name of drill 1.0.0") {
		t.Errorf("an old release under a new version: %s", output)
	}
}

// tampered creates a layout that contains the author's release. Each bit of swap
// replaces one part with the thief's part: zip, checksums, signature, or keys.
func tampered(t *testing.T, author, thief origintest.Release, swap int) (layout string) {
	t.Helper()
	r := author
	if swap&1 != 0 {
		r.Archives = thief.Archives
	}
	if swap&2 != 0 {
		r.Sums = thief.Sums
	}
	if swap&4 != 0 {
		r.Signature = thief.Signature
	}
	if swap&8 != 0 {
		r.Keys = thief.Keys
	}
	layout = filepath.ToSlash(t.TempDir())
	store(t, layout, r.Version, r)
	return layout
}

// store writes a release to a layout under the given tag. It does not verify the
// release.
func store(t *testing.T, layout, tag string, o origintest.Release) {
	t.Helper()
	a, err := provider.ParseAddress("acme/drill")
	if err != nil {
		t.Fatal(err)
	}
	v, err := provider.ParseVersion(o.Version)
	if err != nil {
		t.Fatal(err)
	}
	here := provider.CurrentPlatform()
	zip := o.Archives[here].Bytes
	p := provider.Package{Address: a, Version: v, Platform: here, Filename: provider.Filename(a, v, here), Digest: digest.FromBytes(zip), Size: int64(len(zip))}
	packed, err := artifact.Pack(provider.Release{Address: a, Version: v, Packages: []provider.Package{p}, Documents: []provider.Document{
		artifact.NewDocument(provider.SumsName(a, v), artifact.MediaTypeSums, o.Sums),
		artifact.NewDocument(provider.SumsName(a, v)+".sig", artifact.MediaTypeSignature, o.Signature),
		artifact.NewDocument(provider.SumsName(a, v)+".keys.asc", artifact.MediaTypeKeys, []byte(o.Keys[0])),
	}}, artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	repo := repository.NewLayout(layout)
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(fmt.Errorf("storing %s: %w", tag, err))
		}
	}
	try(repo.PushBlob(t.Context(), artifact.ZipDescriptor(p), bytes.NewReader(zip)))
	for _, d := range packed.Documents {
		try(repo.PushBlob(t.Context(), ocispec.Descriptor{Digest: d.Digest, Size: d.Size}, bytes.NewReader(d.Bytes)))
	}
	for _, manifest := range packed.Manifests {
		try(repo.PushManifest(t.Context(), manifest))
	}
	try(repo.PushTag(t.Context(), packed.Index, tag, ""))
}
