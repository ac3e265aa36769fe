package publish_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// annotated returns the h1 hashes in the stored index.
func (w *world) annotated(t *testing.T, to *target) map[provider.Platform]string {
	t.Helper()
	found := map[provider.Platform]string{}
	for _, p := range w.stored(t, to).Packages {
		if p.H1 != "" {
			found[p.Platform] = p.H1
		}
	}
	return found
}

func (w *world) wantH1(t *testing.T, to *target) {
	t.Helper()
	got := w.annotated(t, to)
	for _, p := range all {
		want, err := origintest.H1(bytes.NewReader(w.zips[p]), int64(len(w.zips[p])))
		if err != nil {
			t.Fatal(err)
		}
		if got[p] != want {
			t.Errorf("%s has h1 %q, not %q", p, got[p], want)
		}
	}
}

// TestStreams checks that no temporary files are used if size and h1 are known.
func TestStreams(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.tempDir = filepath.Join(t.TempDir(), "does", "not", "exist")
		w.publish(t, to, publish.Created, publish.Options{})
		w.wantH1(t, to)
	})
}

// TestLayoutNeedsNoCopy checks that h1 is computed from the layout's file.
func TestLayoutNeedsNoCopy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{NoPackages: true})
	to := w.layout(t)
	w.tempDir = filepath.Join(t.TempDir(), "does", "not", "exist")
	w.publish(t, to, publish.Created, publish.Options{})
	w.wantH1(t, to)
}

func TestH1Computed(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{NoPackages: true}, func(t *testing.T, w *world, to *target) {
		w.tempDir = t.TempDir()
		w.publish(t, to, publish.Created, publish.Options{})
		w.wantH1(t, to)
		if left, err := os.ReadDir(w.tempDir); len(left) != 0 || err != nil {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

func TestSpoolNeedsItsDirectory(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, origintest.Options{NoPackages: true})
	to := w.registry(t, registrytest.Options{})
	w.tempDir = filepath.Join(t.TempDir(), "does", "not", "exist")
	w.publish(t, w.registry(t, registrytest.Options{}), publish.Created, publish.Options{}) // this doesn't require the directory
	w.zips[plan9] = zipOutOfOrder(t, "out of order")
	w.offer(t, w.release(all...))
	_, err := w.run(t, to, publish.Options{})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "creating a temporary file") || to.digest(t) != "" {
		t.Error(err)
	}
}

func TestNoH1(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{NoPackages: true}, func(t *testing.T, w *world, to *target) {
		w.tempDir = filepath.Join(t.TempDir(), "does", "not", "exist")
		w.publish(t, to, publish.Created, publish.Options{NoH1: true})
		if got := w.annotated(t, to); len(got) != 0 {
			t.Errorf("%v", got)
		}
	})
}

// TestUnknownSize checks zips whose size is neither in the package document nor in the
// response.
func TestUnknownSize(t *testing.T) {
	t.Parallel()
	chunked := func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(noLength{w}, r)
	}
	for name, o := range map[string]publish.Options{"with h1": {}, "without h1": {NoH1: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{NoPackages: true}, func(t *testing.T, w *world, to *target) {
				w.origin.Misbehave(origintest.Zip, chunked, -1)
				w.tempDir = t.TempDir()
				w.publish(t, to, publish.Created, o)
				if !o.NoH1 {
					w.wantH1(t, to)
				}
				if left, err := os.ReadDir(w.tempDir); len(left) != 0 || err != nil {
					t.Errorf("left behind: %v, %v", left, err)
				}
			})
		})
	}
}

// noLength makes the server send chunked responses.
type noLength struct{ http.ResponseWriter }

func (n noLength) WriteHeader(code int) {
	n.Header().Del("Content-Length")
	n.ResponseWriter.WriteHeader(code)
}

func (n noLength) Write(p []byte) (int, error) {
	c, err := n.ResponseWriter.Write(p)
	n.ResponseWriter.(http.Flusher).Flush()
	return c, err
}

// TestWrongH1 checks that publishing to a layout verifies the h1 of the origin, in the
// first run and in later runs.
func TestWrongH1(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.layout(t)
	r := w.release(all...)
	const wrong = "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	r.Edit = func(_ provider.Platform, document map[string]any) {
		stated := document["packages"].(map[string]any)[plan9.String()].(map[string]any)
		stated["hashes"] = []string{sums.ZH(w.zipDigest(plan9)), wrong}
	}
	w.offer(t, r)
	for try := range 2 {
		_, err := w.run(t, to, publish.Options{})
		mismatch, ok := errors.AsType[*sums.MismatchError](err)
		if !ok || mismatch.Want != wrong || mismatch.Name != w.filename(plan9) {
			t.Errorf("run %d: %v", try+1, err)
		}
		if to.digest(t) != "" {
			t.Errorf("run %d: tagged", try+1)
		}
	}
}

// TestKnownH1 checks that the h1 of a stored zip is not computed again when platforms are added.
func TestKnownH1(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, origintest.Options{NoPackages: true})
	to := w.registry(t, registrytest.Options{})
	w.publish(t, to, publish.Created, publish.Options{Platforms: without(haiku)})
	before := to.registry.Requests()[registrytest.BlobGet]
	w.publish(t, to, publish.Extended, publish.Options{})
	// Only three stored documents are read: SHA256SUMS, signature, and keys.
	if n := to.registry.Requests()[registrytest.BlobGet] - before; n > 3 {
		t.Errorf("%d blobs were read back", n)
	}
	w.wantH1(t, to)
}

// TestZipOutOfOrder checks a zip that can't be hashed as a stream. It is read again
// from the nearest copy, and no temporary files remain.
func TestZipOutOfOrder(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{NoPackages: true}, func(t *testing.T, w *world, to *target) {
		w.zips[plan9] = zipOutOfOrder(t, "out of order")
		w.offer(t, w.release(all...))
		w.tempDir = t.TempDir()
		w.publish(t, to, publish.Created, publish.Options{})
		w.wantH1(t, to)
		if n := w.origin.Requests()[origintest.Zip]; n != len(all) {
			t.Errorf("got requests for %d zips at the origin", n)
		}
		if left, err := os.ReadDir(w.tempDir); len(left) != 0 || err != nil {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

// TestNoZip checks that content that is not a zip has no h1.
func TestNoZip(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{NoPackages: true}, func(t *testing.T, w *world, to *target) {
		w.zips[plan9] = []byte("not a zip")
		w.offer(t, w.release(all...))
		_, err := w.run(t, to, publish.Options{})
		if err == nil || !strings.Contains(err.Error(), "reading "+w.filename(plan9)) || to.digest(t) != "" {
			t.Error(err)
		}
		w.publish(t, to, publish.Created, publish.Options{NoH1: true})
		if d := digest.FromBytes(w.zips[plan9]); !to.has(t, d) {
			t.Error(fmt.Sprint(d), "is not there")
		}
	})
}

// TestUnpackedH1 checks that the index contains both h1 hashes of a zip that lists
// directories, even if the origin states one of them, and that the mode of an executable
// causes a warning. An unchanged release keeps its hashes when a platform is added.
func TestUnpackedH1(t *testing.T) {
	t.Parallel()
	for _, stated := range []origintest.Options{{}, {NoPackages: true}} {
		eachTarget(t, stated, func(t *testing.T, w *world, to *target) {
			w.zips[haiku] = zipListing(t, "docs/", "terraform-provider-thing_v1.2.3")
			w.offer(t, w.release(all...))
			r := w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{haiku, minix}})
			for _, p := range r.Packages {
				if !strings.Contains(p.Warning, "has no Unix mode") { // as all zips of these tests
					t.Errorf("%s: the warning is %q", p.Package.Platform, p.Warning)
				}
			}
			w.publish(t, to, publish.Extended, publish.Options{})
			want, err := packagezip.HashStream(t.Context(), bytes.NewReader(w.zips[haiku]))
			if err != nil || want.H1 == want.H1Unpacked {
				t.Fatal(err, want)
			}
			for _, p := range w.stored(t, to).Packages {
				if p.Platform == haiku && (p.H1 != want.H1 || p.H1Unpacked != want.H1Unpacked) || p.Platform != haiku && (p.H1 == "" || p.H1Unpacked != "") {
					t.Errorf("%s has the hashes %q", p.Platform, p.H1Hashes())
				}
			}
		})
	}
}

// zipListing returns a zip with the given entries, which have no Unix modes.
func zipListing(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		if _, err := z.CreateRaw(&zip.FileHeader{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
