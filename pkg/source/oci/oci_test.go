package oci_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/sourcetest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

func TestOCIConforms(t *testing.T) {
	t.Parallel()
	for name, layout := range map[string]bool{"layout": true, "registry": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirror(t, layout)
			m.foreign().put(t)
			older := *m
			older.version = version(t, "1.0.0-rc1+build")
			older.foreign().put(t)
			repo, err := m.open(m.address)
			if err != nil {
				t.Fatal(err)
			}
			latest := marshal(t, ocispec.MediaTypeImageIndex, ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{}})
			if err := repo.PushTag(t.Context(), latest, "latest", ""); err != nil {
				t.Fatal(err)
			}
			sourcetest.Run(t, sourcetest.Fixture{
				New:      func(*testing.T) provider.Source { return m.source() },
				Address:  m.address,
				Versions: []provider.Version{m.version, older.version},
				Zips:     m.zips,
			})
		})
	}
}

// TestOCIStat checks blobs that are missing or have a different size.
func TestOCIStat(t *testing.T) {
	t.Parallel()
	m := newMirror(t, false)
	m.foreign().put(t)
	s := m.source()
	r, err := s.Release(t.Context(), m.address, m.version)
	if err != nil {
		t.Fatal(err)
	}
	stat, p := s.Capabilities().Stat, r.Packages[0]
	other := p
	other.Size++
	var size *sums.SizeError
	if _, err := stat(t.Context(), other); !errors.As(err, &size) {
		t.Errorf("another size: got %v", err)
	}
	lost := p
	lost.Digest = digest.FromString("lost")
	if _, err := stat(t.Context(), lost); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("a lost zip: got %v", err)
	}
	lost.Locator = nil
	if _, err := stat(t.Context(), lost); !errors.Is(err, provider.ErrWrongSource) {
		t.Errorf("a package of another source: got %v", err)
	}
	if n := m.registry.Requests()[registrytest.BlobHead]; n != 2 {
		t.Errorf("%d requests by HEAD", n)
	}
}

// TestOCISharesDocuments checks that documents in all manifests are fetched and returned
// only once.
func TestOCISharesDocuments(t *testing.T) {
	t.Parallel()
	m := newMirror(t, false)
	a := m.foreign()
	for p := range a.layers {
		a.layers[p] = append(
			a.layers[p],
			document{artifact.MediaTypeSignature, "thing_SHA256SUMS.sig", []byte("signature")},
			document{artifact.MediaTypeKeys, "thing.asc", []byte("keys")},
			document{artifact.MediaTypeSignature, m.filename(p) + ".sig", []byte("of " + p.String())},
		)
	}
	a.put(t)
	before := m.registry.Requests()[registrytest.BlobGet]
	s := m.source()
	r, err := s.Release(t.Context(), m.address, m.version)
	if err != nil {
		t.Fatal(err)
	}
	// Only the checksums, their signature, and the keys are fetched. Documents about
	// one package are not fetched.
	if n := m.registry.Requests()[registrytest.BlobGet] - before; n != 3 {
		t.Errorf("%d blobs were fetched", n)
	}
	want := []provider.Document{
		artifact.NewDocument(provider.SumsName(m.address, m.version), artifact.MediaTypeSums, m.sums()),
		artifact.NewDocument("thing_SHA256SUMS.sig", artifact.MediaTypeSignature, []byte("signature")),
		artifact.NewDocument("thing.asc", artifact.MediaTypeKeys, []byte("keys")),
	}
	if diff := cmp.Diff(want, r.Documents, documentsOnly); diff != "" {
		t.Error(diff)
	}
	for _, p := range r.Packages {
		text := []byte("of " + p.Platform.String())
		own := []provider.Document{artifact.NewDocument(p.Filename+".sig", artifact.MediaTypeSignature, text)}
		if p.Documents[0].Digest != digest.FromBytes(text) || p.Documents[0].Size != int64(len(text)) {
			t.Errorf("%s: %+v", p.Platform, p.Documents[0])
		}
		content, err := p.Documents[0].Read(t.Context())
		if diff := cmp.Diff(own, []provider.Document{p.Documents[0].WithBytes(content)}, documentsOnly); diff != "" || err != nil {
			t.Errorf("%s: %v %s", p.Platform, err, diff)
		}
	}
}

// documentsOnly ignores how documents were generated.
var documentsOnly = cmpopts.IgnoreFields(provider.Document{}, "Generated")

// TestOCIOtherTools reads artifacts from other tools that OpenTofu installs.
func TestOCIOtherTools(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		edit func(m *mirror, a *artifactOf)
		// shared and own are the numbers of documents.
		shared, own int
	}{
		"zips only": {func(_ *mirror, a *artifactOf) {
			for p, layers := range a.layers {
				a.layers[p] = layers[:1]
			}
		}, 0, 0},
		"no titles": {func(_ *mirror, a *artifactOf) {
			for _, layers := range a.layers {
				layers[0].title, layers[1].title = "", ""
			}
		}, 1, 0},
		"sums of each": {func(m *mirror, a *artifactOf) {
			for p, layers := range a.layers {
				layers[1].bytes = sums.New(map[string]digest.Digest{m.filename(p): digest.FromBytes(m.zips[p])}).Bytes()
			}
		}, 0, 1},
		"title of its own": {func(m *mirror, a *artifactOf) {
			for p, layers := range a.layers {
				layers[0].title = "thing-" + p.String() + ".zip"
				layers[1].bytes = sums.New(map[string]digest.Digest{layers[0].title: digest.FromBytes(m.zips[p])}).Bytes()
			}
		}, 0, 1},
		"title that the sums do not list": {func(_ *mirror, a *artifactOf) {
			for p, layers := range a.layers {
				layers[0].title = "thing-" + p.String() + ".zip"
			}
		}, 1, 0},
		"entries of others": {func(m *mirror, a *artifactOf) {
			m.pushBlob(t, "{}")
			a.editIndex = func(x *ocispec.Index) {
				x.Manifests = append(x.Manifests, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, ArtifactType: "application/vnd.example", Digest: digest.FromString("{}"), Size: 2})
			}
		}, 1, 0},
		"layers of others": {func(_ *mirror, a *artifactOf) {
			for p := range a.layers {
				a.layers[p] = append(a.layers[p], document{"text/markdown", "../../readme", []byte("# ignored")}, document{"text/markdown", "", []byte("# too")})
			}
		}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirror(t, true)
			a := m.foreign()
			test.edit(m, a)
			a.put(t)
			s := m.source()
			r, err := s.Release(t.Context(), m.address, m.version)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Documents) != test.shared || len(r.Packages) != 2 || len(r.Protocols) != 0 {
				t.Errorf("%d shared documents, %d packages", len(r.Documents), len(r.Packages))
			}
			for _, p := range r.Packages {
				if len(p.Documents) != test.own || p.H1 != "" || p.Filename != m.filename(p.Platform) {
					t.Errorf("%s: %d documents of its own, name %q", p.Platform, len(p.Documents), p.Filename)
				}
				body, _, err := s.Open(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(body)
				if err := errors.Join(err, body.Close()); err != nil || string(got) != string(m.zips[p.Platform]) {
					t.Errorf("%s: %v", p.Platform, err)
				}
			}
		})
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// TestOCIRefuses checks that invalid artifacts are rejected before any zip is
// requested.
func TestOCIRefuses(t *testing.T) {
	t.Parallel()
	listing := func(name string, d digest.Digest) func(*mirror, *artifactOf) {
		return func(m *mirror, a *artifactOf) {
			for p := range a.layers {
				lines := map[string]digest.Digest{m.filename(p): digest.FromBytes(m.zips[p])}
				if p == plan9 {
					lines = map[string]digest.Digest{strings.ReplaceAll(name, "*", m.filename(p)): d}
				}
				a.layers[p][1].bytes = sums.New(lines).Bytes()
			}
		}
	}
	sumsAre := func(text string) func(*mirror, *artifactOf) {
		return func(_ *mirror, a *artifactOf) { a.layers[plan9][1].bytes = []byte(text) }
	}
	for name, test := range map[string]struct {
		edit func(m *mirror, a *artifactOf)
		is   func(error) bool
		text string
	}{
		"sums do not list it":     {listing("other.zip", digest.FromString("x")), is[*sums.FileError], "SHA256SUMS does not list terraform-provider-thing_1.2.3_plan9_mips.zip"},
		"sums say otherwise":      {listing("*", digest.FromString("x")), is[*sums.MismatchError], "checksum of terraform-provider-thing_1.2.3_plan9_mips.zip is sha256:"},
		"sums are a page":         {sumsAre("<html>log in</html>"), is[*sums.FileError], "is an HTML or XML page"},
		"sums are empty":          {sumsAre("\n"), is[*sums.FileError], "no files are listed"},
		"sums are malformed":      {sumsAre("abc  file\n"), is[*sums.FileError], "line 1"},
		"name of another version": {retitled("terraform-provider-thing_1.2.2_plan9_mips.zip"), is[*provider.IdentityError], `"terraform-provider-thing_1.2.2_plan9_mips.zip" is the name of thing 1.2.2 for plan9_mips, not of thing 1.2.3 for plan9_mips`},
		"name of another platform": {
			retitled("terraform-provider-thing_1.2.3_haiku_riscv64.zip"), is[*provider.IdentityError], "for haiku_riscv64, not of thing 1.2.3 for plan9_mips",
		},
		"name of another provider": {
			retitled("terraform-provider-other_1.2.3_plan9_mips.zip"), is[*provider.IdentityError], "is the name of other 1.2.3 for plan9_mips, not of thing",
		},
		"name of another version with a v": {
			retitled("terraform-provider-thing_v1.2.2_plan9_mips.ZIP"), is[*provider.IdentityError], "is the name of thing 1.2.2 for plan9_mips, not of thing",
		},
		"sums list the title as another file": {func(m *mirror, a *artifactOf) {
			retitled("thing.zip")(m, a)
			lines := map[string]digest.Digest{"thing.zip": digest.FromString("x"), m.filename(plan9): digest.FromBytes(m.zips[plan9])}
			a.layers[plan9][1].bytes = sums.New(lines).Bytes()
		}, is[*sums.MismatchError], "checksum of thing.zip is sha256:"},
		"sums list neither title nor name": {func(m *mirror, a *artifactOf) {
			retitled("thing.zip")(m, a)
			a.layers[plan9][1].bytes = sums.New(map[string]digest.Digest{"x.zip": digest.FromBytes(m.zips[plan9])}).Bytes()
		}, is[*sums.FileError], "SHA256SUMS does not list thing.zip"},
		"sums are not there": {func(m *mirror, a *artifactOf) { a.lost = append(a.lost, digest.FromBytes(m.sums())) }, func(err error) bool {
			return errors.Is(err, repository.ErrNotFound) && !errors.Is(err, provider.ErrVersionNotFound)
		}, "fetching terraform-provider-thing_1.2.3_SHA256SUMS: "},
		"manifest without a zip": {func(_ *mirror, a *artifactOf) { a.layers[plan9] = a.layers[plan9][1:] }, is[*artifact.FormatError], "has no layer of type archive/zip"},
		"manifest of an image": {func(_ *mirror, a *artifactOf) {
			a.editManifest = func(_ provider.Platform, x *ocispec.Manifest) {
				x.ArtifactType, x.Config.MediaType = "", ocispec.MediaTypeImageConfig
			}
		}, is[*artifact.FormatError], "a container image"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirror(t, false)
			a := m.foreign()
			test.edit(m, a)
			a.put(t)
			_, err := m.source().Release(t.Context(), m.address, m.version)
			if !test.is(err) || !strings.Contains(fmt.Sprint(err), test.text) || !strings.HasPrefix(fmt.Sprint(err), "reading registry.example.org/acme/thing 1.2.3: ") {
				t.Errorf("%T %v", err, err)
			}
			if n := m.registry.Requests()[registrytest.BlobGet]; n > 2 {
				t.Errorf("%d blobs were fetched, zips among them", n)
			}
		})
	}
}

func retitled(title string) func(*mirror, *artifactOf) {
	return func(m *mirror, a *artifactOf) {
		a.layers[plan9][0].title = title
		lines := map[string]digest.Digest{title: digest.FromBytes(m.zips[plan9])}
		a.layers[plan9][1].bytes = sums.New(lines).Bytes()
	}
}

// TestOCIDamagedDocuments checks truncated and corrupt documents.
func TestOCIDamagedDocuments(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, test := range map[string]struct {
		fault origintest.Fault
		is    func(error) bool
	}{
		"one bit": {origintest.FlipBit(3), is[*sums.MismatchError]},
		"short":   {origintest.Short(10), func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirror(t, false)
			m.foreign().put(t)
			m.registry.Misbehave(registrytest.BlobGet, test.fault, -1)
			_, err := m.source().Release(t.Context(), m.address, m.version)
			if !test.is(err) || !strings.Contains(fmt.Sprint(err), "fetching terraform-provider-thing_1.2.3_SHA256SUMS: ") {
				t.Errorf("%T %v", err, err)
			}
		})
	}
}

// TestOCIWrongKind checks tags that point to other artifacts.
func TestOCIWrongKind(t *testing.T) {
	t.Parallel()
	image := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: ocispec.Descriptor{MediaType: ocispec.MediaTypeImageConfig, Digest: digest.FromString("c"), Size: 1}}
	module := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, ArtifactType: "application/vnd.opentofu.modulepkg", Config: ocispec.DescriptorEmptyJSON}
	for name, test := range map[string]struct {
		mediaType string
		document  any
		text      string
	}{
		"image":  {ocispec.MediaTypeImageManifest, image, "a container image"},
		"module": {ocispec.MediaTypeImageManifest, module, "a module package"},
		"index":  {ocispec.MediaTypeImageIndex, ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{}}, `an index of artifact type ""`},
		"empty":  {ocispec.MediaTypeImageIndex, ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, ArtifactType: artifact.TypeProvider, Manifests: []ocispec.Descriptor{}}, "index has no manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirror(t, false)
			m.pushBlob(t, "c")
			m.pushBlob(t, "{}")
			m.tag(t, test.mediaType, test.document)
			_, err := m.source().Release(t.Context(), m.address, m.version)
			if !is[*artifact.FormatError](err) || !strings.Contains(err.Error(), test.text) {
				t.Error(err)
			}
		})
	}
}

func TestOCIMissing(t *testing.T) {
	t.Parallel()
	for name, layout := range map[string]bool{"layout": true, "registry": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirror(t, layout)
			a := m.foreign()
			a.editIndex = func(x *ocispec.Index) {
				for i := range x.Manifests {
					if x.Manifests[i].Platform.OS == "plan9" && layout {
						// A registry would reject this index.
						m.pushBlob(t, "lost")
						x.Manifests[i].Digest = digest.FromString("lost")
						a.lost = append(a.lost, x.Manifests[i].Digest)
					}
				}
			}
			a.put(t)
			_, err := m.source().Release(t.Context(), m.address, version(t, "1.2.4"))
			if !errors.Is(err, provider.ErrVersionNotFound) || !strings.Contains(err.Error(), "existing versions: 1.2.3") {
				t.Error(err)
			}
			if !layout {
				repo, err := m.open(m.address)
				if err != nil {
					t.Fatal(err)
				}
				_, data, err := repo.Manifest(t.Context(), "1.2.3")
				if err != nil {
					t.Fatal(err)
				}
				index, err := artifact.ParseIndex(data)
				if err != nil {
					t.Fatal(err)
				}
				lost, _ := index.Target(plan9)
				m.registry.Delete(t, "mirror/acme/thing", lost.Descriptor.Digest.String())
			}
			_, err = m.source().Release(t.Context(), m.address, m.version)
			if !errors.Is(err, repository.ErrNotFound) || errors.Is(err, provider.ErrVersionNotFound) ||
				!strings.Contains(err.Error(), "the artifact is incomplete: the manifest for plan9_mips is missing") {
				t.Error(err)
			}
			// The other platform is not affected.
			if r, err := m.source().Release(t.Context(), m.address, m.version, haiku); err != nil || len(r.Packages) != 1 {
				t.Error(err)
			}
		})
	}
}

// TestOCITagsDenied checks that missing permission to list tags is not reported as a
// missing provider.
func TestOCITagsDenied(t *testing.T) {
	t.Parallel()
	m := newMirror(t, false)
	m.foreign().put(t)
	m.registry.Misbehave(registrytest.Tags, registrytest.Refuse(403, "DENIED", "no listing"), -1)
	_, err := m.source().Release(t.Context(), m.address, version(t, "1.2.4"))
	if !errors.Is(err, provider.ErrVersionNotFound) || strings.Contains(err.Error(), "no versions at all") || !strings.Contains(err.Error(), "no listing") {
		t.Error(err)
	}
}

func TestOCIDenied(t *testing.T) {
	t.Parallel()
	m := newMirror(t, false)
	m.foreign().put(t)
	for _, kind := range []registrytest.Kind{registrytest.Tags, registrytest.ManifestGet} {
		m.registry.Misbehave(kind, registrytest.Refuse(403, "DENIED", "no"), -1)
	}
	if _, err := m.source().Versions(t.Context(), m.address); !errors.Is(err, provider.ErrForbidden) || errors.Is(err, provider.ErrProviderNotFound) {
		t.Error(err)
	}
	if _, err := m.source().Release(t.Context(), m.address, m.version); !errors.Is(err, provider.ErrForbidden) || errors.Is(err, provider.ErrVersionNotFound) {
		t.Error(err)
	}
}

func TestOCINoRepositoryForAddress(t *testing.T) {
	t.Parallel()
	broken := errors.New("no template for it")
	s := oci.New(func(provider.Address) (repository.Reader, error) { return nil, broken })
	a := address(t, "registry.example.org/acme/thing")
	if _, err := s.Versions(t.Context(), a); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := s.Release(t.Context(), a, version(t, "1.2.3")); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestOCIMissingZip(t *testing.T) {
	t.Parallel()
	m := newMirror(t, true)
	a := m.foreign()
	a.lost = append(a.lost, digest.FromBytes(m.zips[plan9]))
	a.put(t)
	s := m.source()
	r, err := s.Release(t.Context(), m.address, m.version, plan9)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Open(t.Context(), r.Packages[0])
	if !errors.Is(err, repository.ErrNotFound) || !strings.Contains(err.Error(), "opening terraform-provider-thing_1.2.3_plan9_mips.zip: ") {
		t.Error(err)
	}
}
