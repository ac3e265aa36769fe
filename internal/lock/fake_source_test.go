package lock_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const (
	thing = "registry.example.org/acme/thing"
	other = "registry.example.org/acme/other"
)

// fakeSource is a source with releases in memory. It counts calls.
type fakeSource struct {
	releases []provider.Release
	zips     map[digest.Digest][]byte
	// opened counts opened zips. requested counts requested releases.
	opened, requested atomic.Int32
	// cutOff is the number of subsequent zips to truncate.
	cutOff atomic.Int32
	// onRelease, if not nil, is called when a release is requested.
	onRelease func()
	err       error
}

// newFakeSource creates releases for two platforms, with valid checksums and h1: hashes.
func newFakeSource(t *testing.T, address string, versions ...string) *fakeSource {
	t.Helper()
	s := &fakeSource{zips: map[digest.Digest][]byte{}}
	for _, v := range versions {
		s.add(t, address, v)
	}
	return s
}

func (s *fakeSource) add(t *testing.T, address, version string) {
	t.Helper()
	r := provider.Release{Address: nouns.Address(t, address), Version: nouns.Version(t, version)}
	listed := map[string]digest.Digest{"terraform-provider-thing_" + version + "_manifest.json": digest.FromString("manifest")}
	for _, platform := range provider.SortPlatforms([]provider.Platform{nouns.Plan9, nouns.Haiku}) {
		p := s.hold(t, provider.Package{Address: r.Address, Version: r.Version, Platform: platform}, nouns.Zip(t, address+version+platform.String()))
		r.Packages, listed[p.Filename] = append(r.Packages, p), p.Digest
	}
	r.Documents = []provider.Document{sumsOf(r, sums.New(listed).Bytes())}
	s.releases = append(s.releases, r)
}

// sumsOf returns a SHA256SUMS document with the given text.
func sumsOf(r provider.Release, text []byte) provider.Document {
	return artifact.NewDocument(provider.SumsName(r.Address, r.Version), artifact.MediaTypeSums, text)
}

// hold stores a zip and returns its package.
func (s *fakeSource) hold(t *testing.T, p provider.Package, data []byte) provider.Package {
	t.Helper()
	p.Filename, p.Digest, p.Size = provider.Filename(p.Address, p.Version, p.Platform), digest.FromBytes(data), int64(len(data))
	p.H1 = hashOf(t, data).H1
	s.zips[p.Digest] = data
	return p
}

// hashOf returns the hashes of a zip.
func hashOf(t *testing.T, data []byte) packagezip.Contents {
	t.Helper()
	r, err := packagezip.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	contents, err := r.Contents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return contents
}

// first returns the first release.
func (s *fakeSource) first() *provider.Release { return &s.releases[0] }

func (s *fakeSource) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	var versions []provider.Version
	for _, r := range s.releases {
		if r.Address == a {
			versions = append(versions, r.Version)
		}
	}
	if len(versions) == 0 {
		return nil, cmp.Or(ctx.Err(), fmt.Errorf("%s: %w", a, provider.ErrProviderNotFound))
	}
	return provider.NewestFirst(versions), ctx.Err()
}

func (s *fakeSource) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	s.requested.Add(1)
	if s.onRelease != nil {
		s.onRelease()
	}
	if _, err := s.Versions(ctx, a); err != nil || s.err != nil {
		return provider.Release{}, cmp.Or(err, s.err)
	}
	for _, r := range s.releases {
		if r.Address != a || r.Version != v {
			continue
		}
		chosen, err := provider.ChoosePlatforms(a, v, r.Platforms(), only)
		if err != nil {
			return provider.Release{}, err
		}
		r.Packages = slices.DeleteFunc(slices.Clone(r.Packages), func(p provider.Package) bool { return !slices.Contains(chosen, p.Platform) })
		return r, nil
	}
	return provider.Release{}, fmt.Errorf("%s %s: %w", a, v, provider.ErrVersionNotFound)
}

func (s *fakeSource) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	data, found := s.zips[p.Digest]
	if !found {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, provider.ErrWrongSource)
	}
	s.opened.Add(1)
	var body io.Reader = bytes.NewReader(data)
	if s.cutOff.Add(-1) >= 0 {
		body = io.MultiReader(bytes.NewReader(data[:len(data)/2]), failing{})
	}
	return sums.NewReadCloser(io.NopCloser(body), p.Filename, p.Size, p.Digest), int64(len(data)), ctx.Err()
}

// failing is a reader that simulates an interrupted connection.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// zh returns the zh: hash of a digest.
func zh(d digest.Digest) lockfile.Hash { return lockfile.Hash(sums.ZH(d)) }

// wrongH1 is the h1: hash of different content.
var wrongH1 = lockfile.Hash("h1:" + strings.Repeat("A", 43) + "=")

// wrongZH is the zh: hash of different content.
var wrongZH = zh(digest.FromString("something else"))

// zhOfManifest is the zh: hash of a file in SHA256SUMS that is not a zip.
var zhOfManifest = zh(digest.FromString("manifest"))

// stored returns a zip that can't be read as a stream. The zip has directory entries,
// so its unpacked form has a different h1: hash.
func stored(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	if _, err := z.Create("docs/"); err != nil {
		t.Fatal(err)
	}
	w, err := z.CreateHeader(&zip.FileHeader{Name: "terraform-provider-thing", Method: zip.Store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "stored"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
