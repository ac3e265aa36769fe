package serve_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const archive = "/archive/-/registry.opentofu.org/acme/rocket/1.0.0/terraform-provider-rocket_1.0.0_plan9_mips.zip"

// stored configures a store for archives.
func stored(tb testing.TB) func(*serve.Options) {
	tb.Helper()
	s, err := store.Open(filepath.Join(tb.TempDir(), "cache"), store.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return func(o *serve.Options) { o.Store = s }
}

func TestArchive(t *testing.T) {
	t.Parallel()
	r := rocket{version: "1.0.0", size: 3 << 20}
	zip := string(r.zipOf(plan9))
	size := strconv.Itoa(len(zip))
	etag := `"` + digest.FromString(zip).String() + `"`
	last := len(zip) - 1
	for name, w := range map[string]*world{
		"layout": newLayout(t), "registry": newRegistry(t), "store": newRegistry(t, stored(t)),
	} {
		w.push(t, r)
		if name == "store" {
			w.get(t, archive)
		}
		isStream := name == "registry"
		for _, test := range []struct {
			name, method string
			headers      []string
			code         int
			body         string
			rng          string
		}{
			{"whole", "GET", nil, 200, zip, ""},
			{"complete, with Accept-Encoding", "GET", []string{"Accept-Encoding", "gzip, br"}, 200, zip, ""},
			{"head", "HEAD", nil, 200, "", ""},
			{"the rest", "GET", []string{"Range", "bytes=1000000-"}, 206, zip[1000000:], "bytes 1000000-" + strconv.Itoa(last) + "/" + size},
			{"the last byte", "GET", []string{"Range", "bytes=" + strconv.Itoa(last) + "-"}, 206, zip[last:], "bytes " + strconv.Itoa(last) + "-" + strconv.Itoa(last) + "/" + size},
			{"the rest of the same archive", "GET", []string{"Range", "bytes=1000000-", "If-Range", etag}, 206, zip[1000000:], "bytes 1000000-" + strconv.Itoa(last) + "/" + size},
			{"the rest of another archive", "GET", []string{"Range", "bytes=1000000-", "If-Range", `"sha256:0"`}, 200, zip, ""},
			{"outside", "GET", []string{"Range", "bytes=" + size + "-"}, 416, "", "bytes */" + size},
			{"no range", "GET", []string{"Range", "lines=1-"}, 416, "", ""},
			{"cached", "GET", []string{"If-None-Match", etag}, 304, "", ""},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				if isStream && test.name == "no range" {
					test.code, test.body = 200, zip // if a range of a stream can't be verified, it is ignored
				}
				got := w.ask(t, test.method, archive, test.headers...)
				if got.Code != test.code || got.Header().Get("Content-Range") != test.rng && test.rng != "" {
					t.Fatalf("got %d, Content-Range %q", got.Code, got.Header().Get("Content-Range"))
				}
				if test.code == 416 {
					if !strings.HasPrefix(got.Body.String(), `{"errors":`) {
						t.Errorf("got %s", got.Body)
					}
					return
				}
				if got.Body.String() != test.body {
					t.Errorf("got %d bytes, want %d", got.Body.Len(), len(test.body))
				}
				if got.Header().Get("Etag") != etag || got.Header().Get("Content-Encoding") != "" {
					t.Errorf("headers: %v", got.Header())
				}
				if length := got.Header().Get("Content-Length"); test.code == 200 && length != size {
					t.Errorf("Content-Length %s", length)
				}
			})
		}
	}
}

// TestArchiveParts checks that the server sends any range of a file, but only
// verifiable ranges of a stream. Otherwise, it sends the entire archive.
func TestArchiveParts(t *testing.T) {
	t.Parallel()
	r := rocket{version: "1.0.0"}
	zip := string(r.zipOf(plan9))
	const twice = "bytes=0-3,0-3"
	for rng, part := range map[string]string{"bytes=0-9": zip[:10], "bytes=2-5": zip[2:6], "bytes=-5": zip[len(zip)-5:], "bytes=0-0,5-9,7-12": "", twice: ""} {
		for name, w := range map[string]*world{"layout": newLayout(t), "registry": newRegistry(t), "store": newRegistry(t, stored(t))} {
			w.push(t, r)
			if name == "store" {
				w.get(t, archive)
			}
			got := w.get(t, archive, "Range", rng)
			want := http.StatusPartialContent
			if name == "registry" {
				want = http.StatusOK
			}
			if got.Code != want || want == http.StatusOK && got.Body.String() != zip {
				t.Errorf("%s of a %s: got %d, %d bytes", rng, name, got.Code, got.Body.Len())
			}
			if part != "" && want == http.StatusPartialContent && got.Body.String() != part {
				t.Errorf("%s of a %s: got %q", rng, name, got.Body)
			}
			if n := strings.Count(got.Body.String(), "\r\n\r\n"+zip[:4]+"\r\n"); rng == twice && want == http.StatusPartialContent && n != 2 {
				t.Errorf("%s of a %s: got %q", rng, name, got.Body)
			}
		}
	}
}

// TestStoreCachesArchives checks that an archive is fetched only once.
func TestStoreCachesArchives(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, stored(t))
	w.push(t, rocket{version: "1.0.0"})
	for range 3 {
		if got := w.get(t, archive); got.Code != http.StatusOK {
			t.Fatalf("got %d", got.Code)
		}
	}
	if n := w.registry.Requests()[registrytest.BlobGet]; n != 1 {
		t.Errorf("fetched %d blobs", n)
	}
}

// TestStoreAccess checks a release that contains the digest of a zip in a different
// repository. The release doesn't make the zip readable, even though the store contains
// it.
func TestStoreAccess(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, stored(t), guarded(t))
	w.push(t, rocket{version: "1.0.0"})
	link := w.link(t)
	if got := w.get(t, link); got.Code != http.StatusOK {
		t.Fatalf("got %d", got.Code)
	}
	w.registry.Misbehave(registrytest.BlobHead, status(http.StatusServiceUnavailable), -1)
	if got := w.get(t, link); got.Code != http.StatusOK {
		t.Errorf("unreachable registry: got %d", got.Code)
	}
	w.registry.Behave()
	for _, kind := range []registrytest.Kind{registrytest.BlobHead, registrytest.BlobGet} {
		w.registry.Misbehave(kind, status(http.StatusNotFound), -1)
	}
	if got := w.get(t, link); got.Code == http.StatusOK {
		t.Errorf("got %d", got.Code)
	}
}

// TestWrongArchive checks that clients detect an archive with wrong content.
func TestWrongArchive(t *testing.T) {
	t.Parallel()
	r := rocket{version: "1.0.0", size: 3 << 20}
	for _, rng := range []string{"", "bytes=2000000-"} {
		w := newRegistry(t)
		w.push(t, r)
		server := httptest.NewServer(w.server)
		t.Cleanup(server.Close)
		w.registry.Misbehave(registrytest.BlobGet, origintest.FlipBit(77), -1)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+archive, nil)
		if err != nil {
			t.Fatal(err)
		}
		if rng != "" {
			req.Header.Set("Range", rng)
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil || int64(len(content)) >= resp.ContentLength {
			t.Errorf("%q: got all %d bytes of %d", rng, len(content), resp.ContentLength)
		}
		var wrong *sums.MismatchError
		server.Close() // flushes the event
		if !errors.As(w.last().Err, &wrong) {
			t.Errorf("%q: events: %v", rng, w.last().Err)
		}
	}
}

// TestSilentCorruption checks that the first full response detects disk corruption that
// doesn't change the file's metadata.
func TestSilentCorruption(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	r := rocket{version: "1.0.0", size: 1 << 20}
	w.push(t, r)
	d := digest.FromBytes(r.zipOf(plan9))
	path := filepath.Join(w.layout, "blobs", "sha256", d.Encoded())
	content := r.zipOf(plan9)
	content[7] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.NewRecord(filepath.Join(w.layout, ".tofu-oci.blobs")).Add(d, info); err != nil {
		t.Fatal(err)
	}
	// The server has cached the verification, so use a new server.
	fresh := newLayout(t, func(o *serve.Options) { o.From[0] = parsed(t, w.template) })
	server := httptest.NewServer(fresh.server)
	defer server.Close()
	resp, err := fetch(t, server.Client(), server.URL+archive)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(resp.Body); err == nil || len(content) >= r.size {
		t.Errorf("got %d bytes, %v", len(content), err)
	}
}

// TestSilentCorruptionInStore checks that the server removes a corrupt archive from its
// store, so that only one request fails.
func TestSilentCorruptionInStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := newRegistry(t, func(o *serve.Options) { o.Store = s })
	r := rocket{version: "1.0.0", size: 1 << 20}
	w.push(t, r)
	w.get(t, archive)
	content, name := r.zipOf(plan9), digest.FromBytes(r.zipOf(plan9)).Encoded()
	content[7] ^= 1
	path := filepath.Join(dir, "blobs", "sha256", name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	// Record the new metadata, because silent corruption doesn't change it.
	if err := os.WriteFile(filepath.Join(dir, "records", "sha256", name), []byte(atomicfile.StampOf(info).String()), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(w.server)
	defer server.Close()
	resp, err := fetch(t, server.Client(), server.URL+archive)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(resp.Body); err == nil || len(content) >= r.size {
		t.Errorf("got %d bytes, %v", len(content), err)
	}
	for range 2 {
		if got := w.get(t, archive); got.Code != http.StatusOK || got.Body.String() != string(r.zipOf(plan9)) {
			t.Errorf("got %d, %d bytes", got.Code, got.Body.Len())
		}
	}
	if n := w.registry.Requests()[registrytest.BlobGet]; n != 2 {
		t.Errorf("fetched %d blobs", n)
	}
}

// TestCorruptArchive checks that no part of a changed file in a layout is served.
func TestCorruptArchive(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	r := rocket{version: "1.0.0"}
	w.push(t, r)
	path := filepath.Join(w.layout, "blobs", "sha256", digest.FromBytes(r.zipOf(plan9)).Encoded())
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[7] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, headers := range [][]string{nil, {"Range", "bytes=20-25"}} {
		if got := w.get(t, archive, headers...); got.Code != http.StatusBadGateway || strings.Contains(got.Body.String(), "rocket 1.0.0") {
			t.Errorf("%v: got %d %s", headers, got.Code, got.Body)
		}
	}
}

// TestMissingArchives checks the messages for archives that don't exist.
func TestMissingArchives(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	w.push(t, rocket{version: "1.0.0"})
	for path, want := range map[string]string{
		strings.ReplaceAll(archive, "plan9_mips", "beos_mips"):              "has no package for beos_mips",
		strings.ReplaceAll(archive, "1.0.0", "1.0.1"):                       "version not found",
		strings.Replace(archive, "1.0.0", "1.0", 1):                         "invalid version in the path: want 1.0.0",
		strings.Replace(archive, "provider-rocket", "provider-rockot", 1):   "no archive with this file name",
		strings.Replace(archive, "plan9_mips.zip", "plan9_mips.zip.sig", 1): "no archive with this file name",
		strings.Replace(archive, "acme/rocket", "acme/rockot", 1):           "no archive with this file name",
		strings.Replace(archive, "/acme/", "/ac_me/", 1):                    "namespace",
	} {
		got := w.get(t, path)
		if got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
	}
	if diff := cmp.Diff([]string{"GET, HEAD"}, w.ask(t, http.MethodDelete, archive).Header()["Allow"]); diff != "" {
		t.Error(diff)
	}
}

// TestRedirect checks that clients are redirected to the storage of the registry if no
// credentials are needed.
func TestRedirect(t *testing.T) {
	t.Parallel()
	const signed = "https://storage.example.com/blob?X-Signature=abc"
	for _, test := range []struct {
		name, method, to string
		code             int
	}{
		{"storage", http.MethodGet, signed, 307},
		{"storage, HEAD only", http.MethodHead, signed, 200},
		{"without TLS", http.MethodGet, "http://storage.example.com/blob", 200},
		{"with credentials", http.MethodGet, "https://jane:canary@storage.example.com/blob", 200},
		{"the registry sends the blob itself", http.MethodGet, "", 200},
	} {
		w := newRegistry(t, func(o *serve.Options) { o.Redirect = true })
		w.push(t, rocket{version: "1.0.0"})
		w.get(t, mirrored+"1.0.0.json")
		if test.to != "" {
			w.registry.Misbehave(registrytest.BlobGet, func(rw http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
				rw.Header().Set("Location", test.to)
				rw.WriteHeader(http.StatusTemporaryRedirect)
			}, 1)
		}
		got := w.ask(t, test.method, archive)
		if location := got.Header().Get("Location"); got.Code != test.code || (location == test.to) != (test.code == 307) && test.to != "" {
			t.Errorf("%s: got %d to %q: %s", test.name, got.Code, location, got.Body)
		}
		if test.code == 307 && strings.Contains(w.last().Path, "abc") {
			t.Errorf("events: %+v", w.last())
		}
	}
}
