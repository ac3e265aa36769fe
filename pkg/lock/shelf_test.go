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

// shelf is a source whose releases are in memory. It counts what is asked for.
type shelf struct {
	releases []provider.Release
	zips     map[digest.Digest][]byte
	// opened counts zips that were opened, asked the releases that were asked for.
	opened, asked atomic.Int32
	// cutOff is how many of the next zips end in their middle.
	cutOff atomic.Int32
	// meanwhile happens when a release is asked for.
	meanwhile func()
	err       error
}

// newShelf has releases of a provider for two platforms, with sums and true h1.
func newShelf(t *testing.T, address string, versions ...string) *shelf {
	t.Helper()
	s := &shelf{zips: map[digest.Digest][]byte{}}
	for _, v := range versions {
		s.add(t, address, v)
	}
	return s
}

func (s *shelf) add(t *testing.T, address, version string) {
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

// sumsOf is a release's SHA256SUMS with some text.
func sumsOf(r provider.Release, text []byte) provider.Document {
	return artifact.NewDocument(provider.SumsName(r.Address, r.Version), artifact.MediaTypeSums, text)
}

// hold keeps a zip, and gives the package that it is.
func (s *shelf) hold(t *testing.T, p provider.Package, data []byte) provider.Package {
	t.Helper()
	p.Filename, p.Digest, p.Size = provider.Filename(p.Address, p.Version, p.Platform), digest.FromBytes(data), int64(len(data))
	p.H1 = hashOf(t, data).H1
	s.zips[p.Digest] = data
	return p
}

// hashOf says what is in a zip.
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

// first is the release that was put there first.
func (s *shelf) first() *provider.Release { return &s.releases[0] }

func (s *shelf) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
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

func (s *shelf) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	s.asked.Add(1)
	if s.meanwhile != nil {
		s.meanwhile()
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

func (s *shelf) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
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

// failing is a connection that ended.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// zh is a lock file's hash of a zip.
func zh(d digest.Digest) lockfile.Hash { return lockfile.Hash(sums.ZH(d)) }

// wrongH1 is that of something else.
var wrongH1 = lockfile.Hash("h1:" + strings.Repeat("A", 43) + "=")

// wrongZH is that of something else.
var wrongZH = zh(digest.FromString("something else"))

// zhOfManifest is that of a line of the sums that is about no zip.
var zhOfManifest = zh(digest.FromString("manifest"))

// stored makes a zip that can't be read from front to back, with entries for
// directories: its unpacked form has another h1.
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
