package bundle_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/bundle"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

var rocket = address("acme/rocket")

func address(text string) provider.Address {
	a, err := provider.ParseAddress(text)
	if err != nil {
		panic(err)
	}
	return a
}

// source returns a layout with versions of acme/rocket. The first version has a
// referrer.
func source(t *testing.T, versions ...string) repository.Repository {
	t.Helper()
	repo := repository.NewLayout(exampletest.Layout(t.TempDir(), versions...))
	found, err := repository.Inspect(t.Context(), repo, versions[0], repository.DepthIndex)
	if err != nil {
		t.Fatal(err)
	}
	sbom := artifact.NewDocument("sbom.spdx.json", artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"SPDX-2.3"}`))
	if _, err := repository.Attach(t.Context(), repo, []provider.Document{sbom}, found.Descriptor); err != nil {
		t.Fatal(err)
	}
	return repo
}

// create writes a bundle of all versions, and returns the names of its parts.
func create(t *testing.T, from repository.Reader, o bundle.CreateOptions) []string {
	t.Helper()
	names, err := tryCreate(t.Context(), from, &o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func tryCreate(ctx context.Context, from repository.Reader, o *bundle.CreateOptions, dir string) (names []string, err error) {
	o.From = func(provider.Address) (repository.Reader, error) { return from, nil }
	if o.File == "" {
		o.File = filepath.Join(dir, "bundle.tar")
	}
	parts, err := bundle.Create(ctx, []provider.Requirement{{Address: rocket}}, *o)
	for _, p := range parts {
		names = append(names, p.File)
		if info, statErr := os.Stat(p.File); statErr != nil || info.Size() != p.Size {
			err = errors.Join(err, statErr, fmt.Errorf("%s has the wrong size", p.File))
		}
	}
	return names, err
}

// imported imports parts to a repository, and returns the status or error of each
// version.
func imported(t *testing.T, to repository.Repository, names ...string) map[string]string {
	t.Helper()
	b, err := bundle.Open(t.Context(), names, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	results := map[string]string{}
	_, err = bundle.Import(t.Context(), b, mirror.Options{
		Target: func(provider.Address) (repository.Repository, publish.Options, error) {
			return to, publish.Options{}, nil
		},
		OnResult: func(r mirror.Result) {
			results[r.Item.Version.String()] = string(r.Published.Status)
			if r.Err != nil {
				results[r.Item.Version.String()] = r.Err.Error()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// contents returns the digests of a repository's tags, after reading all content.
func contents(t *testing.T, repo repository.Reader) map[string]digest.Digest {
	t.Helper()
	tags, err := repo.Tags(t.Context())
	if err != nil && !errors.Is(err, repository.ErrNoRepository) {
		t.Fatal(err)
	}
	all := map[string]digest.Digest{}
	for _, tag := range tags {
		g, err := repository.ReadGraph(t.Context(), repo, tag)
		if err != nil {
			t.Fatalf("tag %s: %v", tag, err)
		}
		for _, d := range g.Blobs {
			content, err := repository.Verified(t.Context(), repo, d, d.Digest.String())
			if err == nil {
				_, err = io.Copy(io.Discard, content)
				_ = content.Close()
			}
			if err != nil {
				t.Fatalf("tag %s: %v", tag, err)
			}
		}
		all[tag] = g.Root.Digest
	}
	return all
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0", "1.1.0", "2.0.0")
	names := create(t, from, bundle.CreateOptions{Identity: bundle.Identity{Tool: "test"}})
	to := repository.NewLayout(filepath.Join(t.TempDir(), "inside"))
	if diff := cmp.Diff(map[string]string{"1.0.0": "created", "1.1.0": "created", "2.0.0": "created"}, imported(t, to, names...)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(contents(t, from), contents(t, to)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"1.0.0": "unchanged", "1.1.0": "unchanged", "2.0.0": "unchanged"}, imported(t, to, names...)); diff != "" {
		t.Error(diff)
	}
}

// TestImageLayout checks that the extracted parts are an image layout.
func TestImageLayout(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0", "1.1.0")
	dir := t.TempDir()
	for _, name := range create(t, from, bundle.CreateOptions{PartSize: 20 << 10}) {
		extract(t, name, dir)
	}
	layout := repository.NewLayout(dir)
	for tag, d := range contents(t, from) {
		found, _, err := layout.Manifest(t.Context(), "registry.opentofu.org/acme/rocket:"+tag)
		if err != nil || found.Digest != d {
			t.Errorf("%s: %s, %v", tag, found.Digest, err)
		}
	}
}

func extract(t *testing.T, name, dir string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	archive := tar.NewReader(f)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		data, err := io.ReadAll(archive)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPartsInAnyOrder imports parts one at a time, in random orders.
func TestPartsInAnyOrder(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0", "1.1.0", "1.2.0", "2.0.0")
	names := create(t, from, bundle.CreateOptions{PartSize: 24 << 10})
	if len(names) < 3 {
		t.Fatalf("got %d parts", len(names))
	}
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 1))
		to := repository.NewLayout(filepath.Join(t.TempDir(), "inside"))
		for range 2 { // the second round supplies manifests that came before their blobs
			for _, i := range r.Perm(len(names)) {
				for version, result := range imported(t, to, names[i]) {
					if result != "created" && result != "unchanged" && result != "extended" && !strings.Contains(result, "missing or damaged: part") {
						t.Errorf("seed %d: %s: %s", seed, version, result)
					}
				}
				contents(t, to)
			}
		}
		if diff := cmp.Diff(contents(t, from), contents(t, to)); diff != "" {
			t.Errorf("seed %d: %s", seed, diff)
		}
	}
}

// TestDamagedZip imports a part with a damaged zip. The error names the part, and the
// other content of the release is imported.
func TestDamagedZip(t *testing.T) {
	t.Parallel()
	names := create(t, source(t, "1.0.0", "2.0.0"), bundle.CreateOptions{})
	intact := read(t, names)[0]
	damaged := bytes.Clone(intact)
	damaged[bytes.Index(damaged, []byte("PK\x03\x04"))+40] ^= 1
	if err := os.WriteFile(names[0], damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	to := repository.NewLayout(filepath.Join(t.TempDir(), "inside"))
	failed := 0
	for version, result := range imported(t, to, names...) {
		switch {
		case result == "created":
		case strings.Contains(result, "checksum of ") && strings.Contains(result, "missing or damaged: part 1 of 1 with sha256:"):
			failed++
		default:
			t.Errorf("%s: %s", version, result)
		}
	}
	if failed == 0 {
		t.Error("no version failed")
	}
	if err := os.WriteFile(names[0], intact, 0o600); err != nil {
		t.Fatal(err)
	}
	for version, result := range imported(t, to, names...) {
		if result != "created" && result != "unchanged" {
			t.Errorf("%s: %s", version, result)
		}
	}
}

func TestEqualContentResultsInEqualFiles(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0", "1.1.0")
	a, b := read(t, create(t, from, bundle.CreateOptions{PartSize: 20 << 10})), read(t, create(t, from, bundle.CreateOptions{PartSize: 20 << 10}))
	if !slices.EqualFunc(a, b, bytes.Equal) || len(a) < 2 {
		t.Errorf("%d and %d parts differ", len(a), len(b))
	}
	for i, part := range a {
		if len(part) > 20<<10 {
			t.Errorf("part %d has %d bytes", i+1, len(part))
		}
	}
}

// TestResume removes a part and creates the bundle again.
func TestResume(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0", "1.1.0", "2.0.0")
	o := bundle.CreateOptions{PartSize: 20 << 10, File: filepath.Join(t.TempDir(), "bundle.tar"), From: func(provider.Address) (repository.Reader, error) { return from, nil }}
	wanted := []provider.Requirement{{Address: rocket}}
	first, err := bundle.Create(t.Context(), wanted, o)
	if err != nil || len(first) < 2 {
		t.Fatal(len(first), err)
	}
	if err := os.Remove(first[1].File); err != nil {
		t.Fatal(err)
	}
	again, err := bundle.Create(t.Context(), wanted, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range again {
		if p.Existed != (i != 1) {
			t.Errorf("part %d: Existed = %v", i+1, p.Existed)
		}
	}
	// A file with different content is never overwritten.
	if err := os.WriteFile(first[0].File, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Create(t.Context(), wanted, o); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v", err)
	}
}

// TestSince omits the content that the receiver has.
func TestSince(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := repository.NewLayout(exampletest.Layout(dir, "1.0.0", "1.1.0"))
	to := repository.NewLayout(filepath.Join(t.TempDir(), "inside"))
	imported(t, to, create(t, from, bundle.CreateOptions{})...)
	inventory, err := bundle.NewInventory(t.Context(), []provider.Address{rocket}, func(provider.Address) (repository.Reader, error) { return to, nil })
	if err != nil {
		t.Fatal(err)
	}
	exampletest.Layout(dir, "2.0.0") // adds a version
	names := create(t, from, bundle.CreateOptions{Since: inventory})
	if diff := cmp.Diff(map[string]string{"2.0.0": "created"}, imported(t, to, names...)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(contents(t, from), contents(t, to)); diff != "" {
		t.Error(diff)
	}
}

// counted counts how often each tag and manifest is read.
type counted struct {
	repository.Reader
	mu    sync.Mutex
	reads map[string]int
}

func (r *counted) Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	r.mu.Lock()
	r.reads[reference]++
	r.mu.Unlock()
	return r.Reader.Manifest(ctx, reference)
}

// TestManifestsAreReadOnce checks that creating a bundle with a verified signature, and
// listing an inventory, read each manifest once.
func TestManifestsAreReadOnce(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0", "1.1.0")
	var o bundle.CreateOptions
	o.Publish.Verify = func(context.Context, provider.Release) (provider.Verdict, error) { return provider.Verdict{}, nil }
	for name, read := range map[string]func(repository.Reader) error{
		"create": func(r repository.Reader) error { _, err := tryCreate(t.Context(), r, &o, t.TempDir()); return err },
		"inventory": func(r repository.Reader) error {
			_, err := bundle.NewInventory(t.Context(), []provider.Address{rocket}, func(provider.Address) (repository.Reader, error) { return r, nil })
			return err
		},
	} {
		r := &counted{Reader: from, reads: map[string]int{}}
		if err := read(r); err != nil || len(r.reads) < 4 {
			t.Fatalf("%s: reads %v, %v", name, r.reads, err)
		}
		for reference, n := range r.reads {
			if n > 1 {
				t.Errorf("%s: %s was read %d times", name, reference, n)
			}
		}
	}
}

// TestSinceAfterDeletion imports to a repository that lost content of the inventory.
func TestSinceAfterDeletion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := source(t, "1.0.0", "1.1.0")
	g, err := repository.ReadGraph(t.Context(), from, "1.1.0")
	if err != nil {
		t.Fatal(err)
	}
	// The receiver reports a blob of 1.1.0 that it doesn't have.
	inventory := &bundle.Inventory{Repositories: []bundle.StoredRepository{{Address: rocket.String(), Content: []digest.Digest{g.Blobs[0].Digest}}}}
	to := repository.NewLayout(filepath.Join(dir, "inside"))
	results := imported(t, to, create(t, from, bundle.CreateOptions{Since: inventory})...)
	if !strings.Contains(results["1.1.0"], g.Blobs[0].Digest.String()) || results["1.0.0"] != "created" {
		t.Errorf("got %v", results)
	}
	if _, live := contents(t, to)["1.1.0"]; live {
		t.Error("the incomplete version has a tag")
	}
}

func TestPartSizeTooSmall(t *testing.T) {
	t.Parallel()
	o := bundle.CreateOptions{PartSize: 1 << 10}
	dir := t.TempDir()
	if _, err := tryCreate(t.Context(), source(t, "1.0.0"), &o, dir); provider.KindOf(err) != provider.Misuse {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
