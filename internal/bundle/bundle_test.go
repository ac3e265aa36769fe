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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bundle"
	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
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
	if _, err := repository.Attach(t.Context(), repo, []provider.Document{sbom}, artifact.Blob{Descriptor: found.Descriptor}); err != nil {
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

// graph returns the content that belongs to a tag.
func graph(t *testing.T, repo repository.Reader, tag string) repository.Graph {
	t.Helper()
	found, err := repository.Inspect(t.Context(), repo, tag, repository.DepthIndex)
	if err != nil {
		t.Fatalf("tag %s: %v", tag, err)
	}
	g, err := found.ReadGraph(t.Context(), repo)
	if err != nil {
		t.Fatalf("tag %s: %v", tag, err)
	}
	return g
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
		g := graph(t, repo, tag)
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

// TestPartsInAnyOrder imports parts one at a time, in random orders. After the last
// part, the target must be complete. Each import names the parts that are still
// missing.
func TestPartsInAnyOrder(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0", "1.1.0", "1.2.0", "2.0.0")
	// In the smallest parts, the manifests of a version are in different parts.
	for _, size := range []int64{24 << 10, 16 << 10} {
		names := create(t, from, bundle.CreateOptions{PartSize: size})
		if len(names) < 3 {
			t.Fatalf("got %d parts", len(names))
		}
		orders := [][]int{rand.New(rand.NewPCG(0, 1)).Perm(len(names))}
		for seed := range uint64(10) {
			orders = append(orders, rand.New(rand.NewPCG(seed, 2)).Perm(len(names)))
		}
		slices.Sort(orders[0])
		slices.Reverse(orders[0])
		for _, order := range orders {
			importInOrder(t, from, names, order)
		}
	}
}

func importInOrder(t *testing.T, from repository.Reader, names []string, order []int) {
	t.Helper()
	inside := repository.NewLayout(filepath.Join(t.TempDir(), "inside"))
	// Like a registry, the target refuses manifests without their content, and returns
	// manifests only if their content is complete.
	to := strict{inside}
	for n, i := range order {
		results := imported(t, to, names[i])
		missing := map[int]bool{}
		for version, result := range results {
			if _, problem, failed := strings.Cut(result, "missing or damaged: part"); failed {
				for _, number := range strings.FieldsFunc(strings.Split(problem, " of ")[0], func(r rune) bool { return !unicode.IsDigit(r) }) {
					part, _ := strconv.Atoi(number)
					missing[part] = true
				}
			} else if result != "created" && result != "unchanged" {
				t.Errorf("order %v: %s: %s", order, version, result)
			}
		}
		for part := range missing {
			if slices.Contains(order[:n+1], part-1) {
				t.Errorf("order %v: part %d is called missing after the import of %v", order, part, order[:n+1])
			}
		}
		var remaining []int
		for _, part := range order[n+1:] {
			remaining = append(remaining, part+1)
		}
		slices.Sort(remaining)
		if still := stillMissing(t, to, names[i]); !slices.Equal(still, remaining) {
			t.Errorf("order %v: after %v, the parts %v are still missing, got %v", order, order[:n+1], remaining, still)
		}
		contents(t, inside)
	}
	if diff := cmp.Diff(contents(t, from), contents(t, inside)); diff != "" {
		t.Errorf("order %v: %s", order, diff)
	}
}

// unlisted is a repository whose tags can't be listed.
type unlisted struct{ repository.Repository }

func (unlisted) Tags(context.Context) ([]string, error) { return nil, provider.ErrForbidden }

// TestDenialInARegistryThatDoesNotListTags checks that a bundle contains the denial of a
// version that is specified exactly, even if the tags of its repository can't be listed.
func TestDenialInARegistryThatDoesNotListTags(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0", "2.0.0")
	deny(t, from, "2.0.0")
	var wanted []provider.Requirement
	for _, v := range []string{"1.0.0", "2.0.0"} {
		wanted = append(wanted, provider.Requirement{Address: rocket, Constraint: provider.ExactConstraint(nouns.Version(t, v))})
	}
	name := filepath.Join(t.TempDir(), "bundle.tar")
	_, err := bundle.Create(t.Context(), wanted, bundle.CreateOptions{
		File: name, From: func(provider.Address) (repository.Reader, error) { return unlisted{from}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"1.0.0": "created", "2.0.0": "denied"}
	if diff := cmp.Diff(want, imported(t, repository.NewLayout(t.TempDir()), name)); diff != "" {
		t.Error(diff)
	}
}

// TestDenialInParts imports the parts of a bundle with a denial one at a time, in both
// directions. The target must get the reason of the denial, even if the denial's
// content is in several parts.
func TestDenialInParts(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0", "2.0.0")
	first := create(t, from, bundle.CreateOptions{})
	deny(t, from, "2.0.0")
	for _, size := range []int64{24 << 10, 16 << 10, 13 << 10} {
		names := create(t, from, bundle.CreateOptions{PartSize: size})
		for range 2 {
			to := repository.NewLayout(filepath.Join(t.TempDir(), "inside"))
			imported(t, to, first...)
			for _, name := range names {
				if result := imported(t, strict{to}, name)["2.0.0"]; result != "" && result != "denied" && !strings.Contains(result, "missing or damaged: part") {
					t.Errorf("parts of %d bytes: %s", size, result)
				}
			}
			checkDenied(t, to, "2.0.0")
			// The denial exists, so its content isn't required again.
			for _, name := range names {
				if result := imported(t, strict{to}, name)["2.0.0"]; result != "" {
					t.Errorf("parts of %d bytes: %s: %s", size, name, result)
				}
			}
			slices.Reverse(names)
		}
	}
}

// TestDamagedDenial checks that a target doesn't get a denial without its reason.
func TestDamagedDenial(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0", "2.0.0")
	deny(t, from, "2.0.0")
	g := graph(t, from, "denied-2.0.0")
	name := create(t, from, bundle.CreateOptions{})[0]
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	contents := [][]byte{g.Manifests[0].Bytes}
	for _, d := range g.Blobs {
		data, err := repository.DocumentAt(from, d, "").Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, data)
	}
	for i, content := range contents {
		if len(content) == len("{}") { // the config, which is in other content, too
			continue
		}
		at := bytes.Index(whole, content)
		if at < 0 {
			t.Fatalf("content %d isn't in the bundle", i)
		}
		if err := os.WriteFile(name, flip(whole, at+len(content)/2), 0o600); err != nil {
			t.Fatal(err)
		}
		to := repository.NewLayout(filepath.Join(t.TempDir(), "inside"))
		if result := imported(t, to, name)["2.0.0"]; !strings.Contains(result, "missing or damaged: part 1 of 1") {
			t.Errorf("content %d: %s", i, result)
		}
		if err := os.WriteFile(name, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		imported(t, to, name)
		checkDenied(t, to, "2.0.0")
	}
}

// checkDenied checks that a repository has the denial that deny wrote, and no version.
func checkDenied(t *testing.T, repo repository.Reader, version string) {
	t.Helper()
	record, denied, err := repository.ReadDenial(t.Context(), repo, nouns.Version(t, version))
	if err != nil || !denied || record.Reason != "CVE-2026-4711" || record.By != "jane" {
		t.Errorf("got %+v, %t, %v", record.Decision, denied, err)
	}
	if tags, err := repo.Tags(t.Context()); err != nil || slices.Contains(tags, version) {
		t.Errorf("got the tags %v, %v", tags, err)
	}
}

// deny denies a version of acme/rocket with the reason CVE-2026-4711.
func deny(t *testing.T, repo repository.Repository, version string) {
	t.Helper()
	_, err := approval.Deny(t.Context(), repo, rocket, nouns.Version(t, version), approval.DenyOptions{Reason: "CVE-2026-4711", By: "jane"})
	if err != nil {
		t.Fatal(err)
	}
}

// stillMissing returns the parts that an import of other parts still needs.
func stillMissing(t *testing.T, to repository.Reader, names ...string) []int {
	t.Helper()
	b, err := bundle.Open(t.Context(), names, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	missing, err := b.StillMissing(t.Context(), b.Addresses(), func(provider.Address) (repository.Reader, error) { return to, nil })
	if err != nil {
		t.Fatal(err)
	}
	return missing
}

// strict is a layout that behaves like a registry: it has no files that other code can
// write to, refuses manifests whose content is missing, and returns only content that
// was pushed as a manifest as a manifest.
type strict struct{ repository.Repository }

func (s strict) Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	d, data, err := s.Repository.Manifest(ctx, reference)
	if err == nil && s.check(ctx, data) != nil {
		return ocispec.Descriptor{}, nil, repository.ErrNotFound
	}
	return d, data, err
}

func (s strict) PushManifest(ctx context.Context, m artifact.Blob) error {
	return errors.Join(s.check(ctx, m.Bytes), s.Repository.PushManifest(ctx, m))
}

func (s strict) PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error {
	return errors.Join(s.check(ctx, m.Bytes), s.Repository.PushTag(ctx, m, tag, was))
}

func (s strict) check(ctx context.Context, data []byte) error {
	manifests, blobs, err := artifact.Children(data)
	for _, d := range slices.Concat(manifests, blobs) {
		_, statErr := s.Stat(ctx, d)
		err = errors.Join(err, statErr)
	}
	return err
}

// TestInterruptedPartsInAnyOrder imports parts in several rounds, each of which is
// interrupted at a later write. The last part completes the target only if no content
// of an interrupted import was lost or half-written.
func TestInterruptedPartsInAnyOrder(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0", "1.1.0")
	names := create(t, from, bundle.CreateOptions{PartSize: 24 << 10})
	for limit := range int64(12) {
		inside := repository.NewLayout(filepath.Join(t.TempDir(), "inside"))
		for _, name := range slices.Backward(names) {
			full := &limited{Repository: strict{inside}, fail: func() error { return syscall.ENOSPC }}
			full.left.Store(limit)
			imported(t, full, name)
			imported(t, strict{inside}, name)
		}
		if diff := cmp.Diff(contents(t, from), contents(t, inside)); diff != "" {
			t.Errorf("%d writes: %s", limit, diff)
		}
	}
}

// TestMissingReferrer imports the parts of a bundle without the part that contains an
// SBOM. The version must not be imported without its SBOM.
func TestMissingReferrer(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0")
	names := create(t, from, bundle.CreateOptions{PartSize: 9 << 10})
	for i := range names {
		to := repository.NewLayout(filepath.Join(t.TempDir(), "inside"))
		some := slices.Delete(slices.Clone(names), i, i+1)
		want := fmt.Sprintf("missing or damaged: part %d of %d", i+1, len(names))
		if result := imported(t, to, some...)["1.0.0"]; !strings.Contains(result, want) {
			t.Errorf("without part %d: %s", i+1, result)
		}
		imported(t, to, names[i])
		if diff := cmp.Diff(contents(t, from), contents(t, to)); diff != "" {
			t.Errorf("without part %d: %s", i+1, diff)
		}
	}
}

// TestResultsOfABundleThatIsNotWritten checks that no version is called created unless
// a part was written.
func TestResultsOfABundleThatIsNotWritten(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0", "1.1.0")
	dir := t.TempDir()
	run := func(o bundle.CreateOptions) (results []string, err error) {
		finished := 0
		o.OnFinish = func(mirror.Result) { finished++ }
		o.OnResult = func(r mirror.Result) { results = append(results, string(r.Published.Status)) }
		_, err = tryCreate(t.Context(), from, &o, dir)
		if finished != len(results) {
			t.Errorf("%d items finished, %d results", finished, len(results))
		}
		return results, err
	}
	if results, err := run(bundle.CreateOptions{PartSize: 1 << 10}); err == nil || len(results) > 0 {
		t.Errorf("too small parts: %v, %v", results, err)
	}
	failing := bundle.CreateOptions{Sign: func([]byte) ([]byte, error) { return nil, errors.New("no key") }}
	if results, err := run(failing); err == nil || len(results) > 0 {
		t.Errorf("no signature: %v, %v", results, err)
	}
	var refusing bundle.CreateOptions
	refusing.Publish.Verify = func(_ context.Context, r provider.Release) (provider.Verdict, error) {
		if r.Version.String() == "1.1.0" {
			return provider.Verdict{}, errors.New("refused")
		}
		return provider.Verdict{}, nil
	}
	if results, err := run(refusing); !errors.Is(err, bundle.ErrIncomplete) || len(results) != 1 || results[0] == "created" {
		t.Errorf("one item fails: %v, %v", results, err)
	}
	if results, err := run(bundle.CreateOptions{}); err != nil || !slices.Equal(results, []string{"created", "created"}) {
		t.Errorf("got %v, %v", results, err)
	}
	if results, err := run(bundle.CreateOptions{}); err != nil || !slices.Equal(results, []string{"unchanged", "unchanged"}) {
		t.Errorf("again: %v, %v", results, err)
	}
}

// TestNameOfABundleWithParts opens a bundle by the name that it was created with.
func TestNameOfABundleWithParts(t *testing.T) {
	t.Parallel()
	names := create(t, source(t, "1.0.0", "1.1.0"), bundle.CreateOptions{PartSize: 20 << 10})
	whole := filepath.Join(filepath.Dir(names[0]), "bundle.tar")
	for _, other := range []string{"bundle.old.tar", "bundle.1.tar.part", "other.1.tar"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(whole), other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := bundle.Open(t.Context(), []string{whole}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	if missing := b.MissingParts(); len(missing) > 0 || len(b.Damaged) > 0 {
		t.Errorf("missing %v, damaged %v", missing, b.Damaged)
	}
	if _, err := bundle.Open(t.Context(), []string{whole + "x"}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
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
	g := graph(t, from, "1.1.0")
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
