package publish_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const stem = "terraform-provider-thing_1.2.3"

// dist returns a directory that looks like the output of a build. It contains the zips
// of the platforms and the given files. The keys of files are file name suffixes.
func (w *world) dist(t *testing.T, files map[string]string, platforms ...provider.Platform) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range platforms {
		write(t, filepath.Join(dir, w.filename(p)), w.zips[p])
	}
	for end, content := range files {
		write(t, filepath.Join(dir, stem+end), []byte(content))
	}
	return dir
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// listing returns the content of a publisher's SHA256SUMS.
func (w *world) listing(platforms ...provider.Platform) string {
	return string(sums.New(w.lines(platforms...)).Bytes())
}

// runLocal publishes a directory with a new Publisher, like a separate process.
func (w *world) runLocal(t *testing.T, to *target, dir string, o publish.Options) (publish.Result, error) {
	t.Helper()
	return w.runLocalOver(t, to.open(t), dir, o)
}

func (w *world) runLocalOver(t *testing.T, repo repository.Repository, dir string, o publish.Options) (publish.Result, error) {
	t.Helper()
	src, err := builddir.New(w.address, dir)
	if err != nil {
		t.Fatal(err)
	}
	return w.publisher().Release(t.Context(), src, repo, w.address, w.version, o)
}

func (w *world) publishLocal(t *testing.T, to *target, want publish.Status, dir string, o publish.Options) publish.Result {
	t.Helper()
	result, err := w.runLocal(t, to, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if result.Status != want {
		t.Fatalf("got status %s, want %s", result.Status, want)
	}
	if to.digest(t) != result.Digest || result.Digest == "" {
		t.Fatalf("the tag points to %s, but the result contains %s", to.digest(t), result.Digest)
	}
	return result
}

// wantTag checks that the tag still points to was. An empty digest means that the tag
// does not exist.
func (to *target) wantTag(t *testing.T, was digest.Digest) {
	t.Helper()
	if now := to.digest(t); now != was {
		t.Errorf("the tag points to %q, and pointed to %q before", now, was)
	}
}

// eachLocalTarget runs a scenario for every kind of repository.
func eachLocalTarget(t *testing.T, scenario func(t *testing.T, w *world, to *target)) {
	t.Helper()
	eachTarget(t, origintest.Options{}, scenario)
	t.Run("registry without referrers", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, origintest.Options{})
		scenario(t, w, w.registry(t, registrytest.Options{NoReferrers: http.StatusNotFound}))
	})
}

// documents returns the names of a package's documents. For the zero Platform, it
// returns the names of the release's documents.
func documents(t *testing.T, r provider.Release, p provider.Platform) []string {
	t.Helper()
	as := r.Documents
	if i := slices.IndexFunc(r.Packages, func(pkg provider.Package) bool { return pkg.Platform == p }); i >= 0 {
		as = r.Packages[i].Documents
	}
	var names []string
	for _, a := range as {
		names = append(names, a.Name)
	}
	return names
}

// referring returns the names of the documents that refer to the tagged index.
func (w *world) referring(t *testing.T, to *target) []string {
	t.Helper()
	s := oci.New(func(provider.Address) (repository.Reader, error) { return to.open(t), nil })
	r, err := s.Release(t.Context(), w.address, w.version)
	if err != nil {
		t.Fatal(err)
	}
	documents, err := s.Capabilities().Documents(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range documents {
		names = append(names, d.Name)
	}
	return names
}

func (w *world) wantReferring(t *testing.T, to *target, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.referring(t, to)); diff != "" {
		t.Errorf("referrers (-want +got):\n%s", diff)
	}
}

// wantSums checks that the release's SHA256SUMS contains exactly the entries of the
// given platforms.
func (w *world) wantSums(t *testing.T, r provider.Release, platforms ...provider.Platform) {
	t.Helper()
	got, _ := r.Document(provider.KindSums)
	if diff := cmp.Diff(w.listing(platforms...), string(got.Bytes)); diff != "" {
		t.Errorf("SHA256SUMS (-want +got):\n%s", diff)
	}
}

// untouchable is an SBOM function that must not be called.
func untouchable(context.Context, provider.Package, string) (provider.Document, error) {
	return provider.Document{}, errors.New("an SBOM was made")
}

// plainServer serves over plain HTTP, because external programs do not trust the test
// CA.
func plainServer(t *testing.T, h http.HandlerFunc) (host string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// cutOff closes a connection without a response.
func cutOff(rw http.ResponseWriter) {
	conn, _, err := rw.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}
