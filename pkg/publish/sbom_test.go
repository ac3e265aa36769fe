package publish_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// goExecutable returns a file with the build information of a module for a platform.
func goExecutable(p provider.Platform) string {
	modules := "\x30\x77\xaf\x0c\x92\x74\x08\x02\x41\xe1\xc1\x07\xe6\xd6\x18\xe6" +
		"path\texample.com/thing\nmod\texample.com/thing\tv1.2.3\th1:a=\ndep\texample.com/" + p.OS + "\tv0.1.0\th1:b=\n" +
		"\xf9\x32\x43\x31\x86\x18\x20\x72\x00\x82\x42\x10\x41\x16\xd8\xf2"
	b := append([]byte("\xff Go buildinf:\x08\x02"), make([]byte, 16)...)
	b = append(b, "\x08go1.26.0"...)
	b = binary.AppendUvarint(b, uint64(len(modules)))
	return string(append(b, modules...))
}

// goWorld is a world whose packages, except for one, contain Go build information.
func goWorld(t *testing.T, o origintest.Options, pack func(*testing.T, string) []byte) *world {
	t.Helper()
	w := newWorld(t, o)
	for _, p := range []provider.Platform{haiku, minix, plan9} {
		w.zips[p] = pack(t, goExecutable(p))
	}
	w.offer(t, w.release(all...))
	return w
}

// modulesOf returns the components of a platform's only SBOM.
func modulesOf(t *testing.T, r provider.Release, p provider.Platform) (found []string, document []byte) {
	t.Helper()
	for _, pkg := range r.Packages {
		if pkg.Platform != p {
			continue
		}
		for _, d := range pkg.Documents {
			if d.Kind != provider.KindSBOM {
				continue
			}
			if document != nil || d.MediaType != artifact.MediaTypeCycloneDX || d.Name != stem+"_"+p.String()+".cdx.json" {
				t.Errorf("%s: unexpected SBOM %s (%s)", p, d.Name, d.MediaType)
			}
			var err error
			if document, err = d.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			var parsed struct {
				Components []struct{ Name, Version string }
			}
			if err := json.Unmarshal(document, &parsed); err != nil {
				t.Fatal(err)
			}
			found = []string{}
			for _, c := range parsed.Components {
				found = append(found, c.Name+" "+c.Version)
			}
		}
	}
	return found, document
}

func (w *world) wantSBOMs(t *testing.T, to *target, platforms ...provider.Platform) {
	t.Helper()
	r := w.stored(t, to)
	for _, p := range r.Platforms() {
		var want []string
		switch {
		case !slices.Contains(platforms, p):
		case p == zos:
			want = []string{}
		default:
			want = []string{"example.com/" + p.OS + " v0.1.0", "example.com/thing v1.2.3", "stdlib go1.26.0"}
		}
		got, document := modulesOf(t, r, p)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("components of %s (-want +got):\n%s", p, diff)
		}
		if document != nil && !bytes.Contains(document, []byte(w.zipDigest(p).Encoded())) {
			t.Errorf("the SBOM of %s doesn't contain the digest of the zip:\n%s", p, document)
		}
	}
}

// TestAutoSBOM checks that SBOMs are stored with the packages, that each zip is read only
// once, and that a later run has nothing to do.
func TestAutoSBOM(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]origintest.Options{"h1 computed": {NoPackages: true}, "h1 from the origin": {}} {
		for name, noH1 := range map[string]bool{name: false, name + ", unwanted": true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for name, pack := range map[string]func(*testing.T, string) []byte{"stream": zipOf, "random access": zipOutOfOrder} {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						for name, open := range map[string]func(*testing.T, *world) *target{
							"layout":   func(t *testing.T, w *world) *target { t.Helper(); return w.layout(t) },
							"registry": func(t *testing.T, w *world) *target { t.Helper(); return w.registry(t, registrytest.Options{}) },
						} {
							t.Run(name, func(t *testing.T) {
								t.Parallel()
								w := goWorld(t, o, pack)
								to := open(t, w)
								options := publish.Options{AutoSBOM: true, NoH1: noH1}
								first := w.publish(t, to, publish.Created, options)
								w.wantSBOMs(t, to, all...)
								if n := w.origin.Requests()[origintest.Zip]; n != len(all) {
									t.Errorf("%d requests for zips", n)
								}
								if h1 := w.annotated(t, to); o.NoPackages && len(h1) == 0 != noH1 {
									t.Errorf("annotated h1 hashes: %v", h1)
								}
								if again := w.publish(t, to, publish.Unchanged, options); again.Digest != first.Digest {
									t.Errorf("the digest changed from %s to %s", first.Digest, again.Digest)
								}
							})
						}
					})
				}
			})
		}
	}
}

// TestAutoSBOMOfStoredPackages checks that SBOMs are added to an existing release without
// the origin's zips.
func TestAutoSBOMOfStoredPackages(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		for _, p := range []provider.Platform{haiku, minix, plan9} {
			w.zips[p] = zipOf(t, goExecutable(p))
		}
		w.offer(t, w.release(all...))
		bare := w.publish(t, to, publish.Created, publish.Options{})
		zips := w.origin.Requests()[origintest.Zip]

		o := publish.Options{AutoSBOM: true, Platforms: []provider.Platform{haiku, zos}, DryRun: true}
		planned, err := w.run(t, to, o)
		want := []string{stem + "_haiku_riscv64.cdx.json", stem + "_zos_s390x.cdx.json"}
		if diff := cmp.Diff(want, planned.Added); err != nil || planned.Status != publish.Extended || diff != "" || to.digest(t) != bare.Digest {
			t.Errorf("dry run: %s, %v (-want +got):\n%s", planned.Status, err, diff)
		}
		o.DryRun = false
		extended := w.publish(t, to, publish.Extended, o)
		wantSent(t, extended)
		if diff := cmp.Diff(want, extended.Added); diff != "" {
			t.Errorf("added (-want +got):\n%s", diff)
		}
		w.wantSBOMs(t, to, haiku, zos)
		o.Check = repository.DepthIndex
		o.Platforms = nil
		w.publish(t, to, publish.Unchanged, o) // this depth reads no manifests
		o.Check = repository.DepthManifests
		w.publish(t, to, publish.Extended, o)
		w.wantSBOMs(t, to, all...)
		w.wantStored(t, to, all...)
		w.publish(t, to, publish.Unchanged, o)
		if n := w.origin.Requests()[origintest.Zip]; n != zips {
			t.Errorf("%d zips were requested again", n-zips)
		}
		whole := w.layout(t)
		w.publish(t, whole, publish.Created, publish.Options{AutoSBOM: true})
		if whole.digest(t) != to.digest(t) {
			t.Error("the same release has a different digest if it is published in one run")
		}
	})
}

// TestAutoSBOMIsNotNeeded checks that SBOMs of the build, of a program, or about all
// platforms take precedence.
func TestAutoSBOMIsNotNeeded(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.zips[haiku] = zipOf(t, goExecutable(haiku))
		auto := publish.Options{AutoSBOM: true}
		own := w.dist(t, map[string]string{"_haiku_riscv64.zip.sbom.json": spdx}, haiku, zos)
		w.publishLocal(t, to, publish.Created, own, auto)
		r := w.stored(t, to)
		if diff := cmp.Diff([]string{stem + "_haiku_riscv64.zip.sbom.json"}, documents(t, r, haiku)); diff != "" {
			t.Errorf("haiku (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{stem + "_zos_s390x.cdx.json"}, documents(t, r, zos)); diff != "" {
			t.Errorf("zos (-want +got):\n%s", diff)
		}
		w.publishLocal(t, to, publish.Unchanged, own, auto)

		shared := w.layout(t)
		about := w.dist(t, map[string]string{".spdx.json": spdx}, haiku)
		w.publishLocal(t, shared, publish.Created, about, auto)
		w.wantReferring(t, shared, stem+".spdx.json")
		if got := documents(t, w.stored(t, shared), haiku); len(got) > 0 {
			t.Errorf("an SBOM about all platforms exists, and haiku has %v", got)
		}
		w.publishLocal(t, shared, publish.Unchanged, about, auto)

		program, dir := sbomOption(t, "spdx")
		program.AutoSBOM = true
		made := w.layout(t)
		w.publishLocal(t, made, publish.Created, w.dist(t, nil, haiku), program)
		if got := documents(t, w.stored(t, made), haiku); len(calls(t, dir)) != 1 || !slices.Equal(got, []string{stem + "_haiku_riscv64.spdx.json"}) {
			t.Errorf("with a program: %v", got)
		}
	})
}

// TestAutoSBOMOfWrongZip checks that no SBOM describes content with a wrong digest, and
// that nothing is stored.
func TestAutoSBOMOfWrongZip(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.zips[haiku] = zipOf(t, goExecutable(haiku))
		w.offer(t, w.release(haiku))
		other := bytes.Replace(w.zips[haiku], []byte("example.com/haiku"), []byte("example.com/other"), 1)
		w.origin.Misbehave(origintest.Zip, func(rw http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) { _, _ = rw.Write(other) }, -1)
		_, err := w.run(t, to, publish.Options{AutoSBOM: true, Platforms: []provider.Platform{haiku}})
		if _, is := errors.AsType[*sums.MismatchError](err); !is || to.has(t, w.zipDigest(haiku)) {
			t.Errorf("got %v", err)
		}
		to.wantTag(t, "")
	})
}

// TestAutoSBOMIsDeterministic checks that two runs generate the same bytes, which contain
// no time.
func TestAutoSBOMIsDeterministic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	w.zips[haiku] = zipOf(t, goExecutable(haiku))
	dir := w.dist(t, nil, haiku)
	var digests []digest.Digest
	for range 2 {
		to := w.layout(t)
		w.publishLocal(t, to, publish.Created, dir, publish.Options{AutoSBOM: true})
		_, document := modulesOf(t, w.stored(t, to), haiku)
		digests = append(digests, digest.FromBytes(document))
		var d struct{ Metadata struct{ Timestamp string } }
		if err := json.Unmarshal(document, &d); err != nil || d.Metadata.Timestamp != "" {
			t.Errorf("%v, %s", err, document)
		}
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %v", digests)
	}
}
