package networkmirror_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/networkmirror"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/sourcetest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// TestSourceConforms runs the suite for mirrors with different hashes. The host of the
// provider has a port.
func TestSourceConforms(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testing.T, *world){
		"zh hashes": func(*testing.T, *world) {},
		"no hashes": func(t *testing.T, w *world) {
			entries := map[string]entry{}
			for p := range w.zips {
				entries[p.String()] = entry{URL: root + "x/thing/" + provider.Filename(w.address, version(t, "1.2.3"), p)}
			}
			w.list(t, "1.2.3", entries)
		},
		"with origin": func(_ *testing.T, w *world) { w.withOrigin() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			prepare(t, w)
			sourcetest.Run(t, sourcetest.Fixture{
				New: func(t *testing.T) provider.Source { return w.source(t) }, Address: w.address,
				Versions: []provider.Version{version(t, "1.2.3"), version(t, "1.0.0")}, Zips: w.zips,
			})
		})
	}
}

// h1Of returns the h1 hash of a zip that zipOf created.
func h1Of(t *testing.T, data []byte) string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, r); err != nil {
		t.Fatal(err)
	}
	h1, err := sums.H1Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return h1
}

// TestHashes checks when a package is downloaded to compute its digest, and that hashes
// that don't match the package are errors.
func TestHashes(t *testing.T) {
	t.Parallel()
	zip := zipOf(t, "haiku")
	zh, h1 := sums.ZH(digest.FromBytes(zip)), h1Of(t, zip)
	other, otherH1 := sums.ZH(digest.FromString("other")), h1Of(t, zipOf(t, "other"))
	const states = "checking ORIGIN/acme/thing 1.2.3 for haiku_riscv64: https://MIRROR/mirrors/tofu/ORIGIN/acme/thing/1.2.3.json lists the hash "
	for name, test := range map[string]struct {
		hashes []string
		origin bool
		// note is a part of the note about the download.
		note, err string
	}{
		"zh":                      {[]string{zh}, false, "", ""},
		"zh and h1":               {[]string{h1, zh}, false, "", ""},
		"zh and another scheme":   {[]string{zh, "h9:x"}, false, "", ""},
		"h1":                      {[]string{h1}, false, "lists only an h1 hash", ""},
		"h1, known to the origin": {[]string{h1}, true, "", ""},
		"hashes of all platforms": {[]string{other, zh}, false, "lists more than one zh hash", ""},
		"none":                    {nil, false, "lists no hash", ""},
		"wrong h1":                {[]string{otherH1}, false, "h1 hash", states + otherH1 + ", but according to the package itself, the hash is " + h1},
		"wrong zh":                {[]string{other}, false, "", "checksum of terraform-provider-thing_1.2.3_haiku_riscv64.zip is "},
		"two wrong zh": {[]string{other, sums.ZH(digest.FromString("b"))}, false, "more than one",
			states + other + ", " + sums.ZH(digest.FromString("b")) + ", but according to the package itself, the hash is " + zh},
		"wrong zh, known to the origin": {[]string{other}, true, "", states + other + ", but according to the origin registry, the hash is " + zh},
		"invalid zh":                    {[]string{"zh:x"}, false, "", "/1.2.3.json: haiku_riscv64: invalid hash \"zh:x\""},
		"invalid h1":                    {[]string{"h1:x"}, false, "", "/1.2.3.json: haiku_riscv64: invalid hash \"h1:x\""},
		"unknown schemes":               {[]string{"h9:x"}, false, "", "/1.2.3.json: haiku_riscv64: all hashes are of unknown kinds"},
		"too many":                      {make([]string, 65), false, "", "65 hashes; the maximum is 64"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.restate(t, "1.2.3", test.hashes...)
			if test.origin {
				w.withOrigin()
			}
			r, err := w.read(t, "1.2.3")
			if !strings.Contains(w.text(err), test.err) || (err != nil) != (test.err != "") {
				t.Errorf("got %v, want %s", w.text(err), test.err)
			}
			if notes := strings.Join(w.notes, "\n"); !strings.Contains(notes, test.note) || test.note == "" && notes != "" {
				t.Errorf("notes: %s", notes)
			}
			if err == nil && sums.ZH(r.Packages[0].Digest) != zh {
				t.Errorf("the digest is %s", r.Packages[0].Digest)
			}
			if isUnverified := provider.KindOf(err) == provider.Unverified; isUnverified != strings.Contains(name, "wrong") {
				t.Errorf("the kind is %s", provider.KindOf(err))
			}
		})
	}
}

// TestHashesOfAnotherVersion checks a mirror that lists the hashes of its newest version for
// all versions, as tofu providers mirror 1.12 does.
func TestHashesOfAnotherVersion(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		w := newWorld(t)
		if known {
			w.withOrigin()
		}
		zh := sums.ZH(digest.FromBytes(w.zips[haiku]))
		w.restate(t, "1.0.0", zh)
		_, err := w.read(t, "1.0.0")
		failure, ok := errors.AsType[*networkmirror.HashError](err)
		if !ok || failure.Other != version(t, "1.2.3") || failure.Stated[0] != zh || failure.Actual != sums.ZH(digest.FromBytes(zipOf(t, "old"))) {
			t.Errorf("got %v", err)
		}
		if !strings.HasSuffix(err.Error(), "; the mirror lists the same hash for version 1.2.3") {
			t.Errorf("got %v", err)
		}
		if _, err := w.read(t, "1.2.3"); err != nil {
			t.Errorf("the version with the right hashes: %v", err)
		}
	}
}

// TestZipsOfAnotherVersion checks a mirror that serves the zip of a different version, and
// states its hash.
func TestZipsOfAnotherVersion(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	if _, err := archive.Create("terraform-provider-thing_v1.0.0_x5"); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	const name = "terraform-provider-thing_1.2.3_haiku_riscv64.zip"
	w := newWorld(t)
	w.files[name] = b.Bytes()
	w.restate(t, "1.2.3", sums.ZH(digest.FromBytes(b.Bytes())))
	w.restate(t, "1.0.0", sums.ZH(digest.FromBytes(b.Bytes())))
	_, err := w.read(t, "1.2.3")
	if provider.KindOf(err) != provider.Unverified || !strings.Contains(err.Error(), name+" contains terraform-provider-thing_v1.0.0_x5, the executable of version 1.0.0") {
		t.Errorf("got %v", err)
	}
	w.withOrigin()
	if _, err := w.read(t, "1.2.3"); provider.KindOf(err) != provider.Unverified || !strings.Contains(err.Error(), "according to the origin registry") {
		t.Errorf("with the origin registry: got %v", err)
	}
}

// TestDocumentsOfTheOrigin checks that a release is signed if the origin registry is
// available, and that only unavailability makes a release unsigned.
func TestDocumentsOfTheOrigin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(*testing.T, *world)
		// documents is the number of documents of the release.
		documents int
		note, err string
	}{
		"available": {func(t *testing.T, w *world) {
			r := origintest.Release{Namespace: "acme", Type: "thing", Version: "1.2.3", Signature: []byte("signature"), Keys: []string{"key"}, Archives: map[provider.Platform]origintest.Archive{}}
			for p, zip := range w.zips {
				r.Archives[p] = origintest.Archive{Bytes: zip}
			}
			if err := w.origin.Add(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}, 3, "", ""},
		"unavailable": {func(_ *testing.T, w *world) {
			w.origin.Misbehave(origintest.Discovery, origintest.Status(http.StatusForbidden), -1)
		}, 0, "no signatures, because the origin registry is unavailable: ", ""},
		"without the version": {func(t *testing.T, w *world) {
			w.origin = origintest.New(origintest.Options{})
			w.address = address(t, registrytest.Serve(t, w.ca, w.origin)+"/acme/thing")
		}, 0, "1.2.3 has no signature, because the origin registry does not have this version", ""},
		"broken": {func(_ *testing.T, w *world) {
			w.origin.Misbehave(origintest.Package, origintest.Status(http.StatusBadGateway), -1)
		}, 0, "", "502 Bad Gateway"},
		"without a platform": {func(t *testing.T, w *world) {
			r := origintest.Release{Namespace: "acme", Type: "thing", Version: "1.2.3", Archives: map[provider.Platform]origintest.Archive{haiku: {Bytes: w.zips[haiku]}}}
			if err := w.origin.Add(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}, 0, "", "has no package for plan9_mips"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			test.prepare(t, w)
			w.withOrigin()
			r, err := w.read(t, "1.2.3")
			if !strings.Contains(w.text(err), test.err) || (err != nil) != (test.err != "") {
				t.Errorf("got %v", err)
			}
			if len(r.Documents) != test.documents {
				t.Errorf("%d documents: %v", len(r.Documents), r.Documents)
			}
			if notes := strings.Join(w.notes, "\n"); !strings.Contains(notes, test.note) || test.note == "" && notes != "" {
				t.Errorf("notes: %s", notes)
			}
		})
	}
}

// TestStore checks that a package that Release downloaded is stored.
func TestStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kept, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.options.Store = kept
	w.restate(t, "1.2.3")
	r, err := w.source(t).Release(t.Context(), w.address, version(t, "1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	blob, ok := kept.Blob(t.Context(), r.Packages[0].Digest)
	if !ok {
		t.Fatal("the package is not in the store")
	}
	_ = blob.Close()
	if r.Packages[0].H1 != h1Of(t, w.zips[haiku]) || r.Packages[0].Size != int64(len(w.zips[haiku])) {
		t.Errorf("got %+v", r.Packages[0])
	}
}

// TestParseURL checks the URLs that are accepted on the command line.
func TestParseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://mirror.example/providers/":  "https://mirror.example/providers/",
		"https://mirror.example/providers":   "https://mirror.example/providers/",
		"https://mirror.example":             "https://mirror.example/",
		"http://localhost:8080/p/":           "http://localhost:8080/p/",
		"http://mirror.example/":             "",
		"https:///p/":                        "",
		"ftp://mirror.example/":              "",
		"https://user:secret@mirror.example": "",
		"https://mirror.example/?a=b":        "",
		"https://mirror.example/#a":          "",
		"https://mirror.example:x/":          "",
	} {
		u, err := networkmirror.ParseURL(text, []string{"localhost:8080"})
		got := ""
		if err == nil {
			got = u.String()
		} else if strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
		if got != want {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
}

// TestVersionLists checks invalid and missing versions.
func TestVersionLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	versions, err := w.source(t).Versions(t.Context(), w.address)
	if diff := cmp.Diff([]string{"1.2.3", "1.0.0"}, []string{versions[0].String(), versions[1].String()}); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	delete(w.files, "1.0.0.json") // although it is listed
	if _, err := w.read(t, "1.0.0"); err == nil || errors.Is(err, provider.ErrVersionNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := w.read(t, "1.2.3"); err != nil {
		t.Errorf("another version: %v", err)
	}
}

// TestToken checks that the mirror's token is sent only to the mirror's host.
func TestToken(t *testing.T) {
	t.Parallel()
	const name = "terraform-provider-thing_1.2.3_haiku_riscv64.zip"
	for label, test := range map[string]struct {
		prepare func(t *testing.T, w *world, elsewhere string)
		// mirror and other are the numbers of requests with a token for the zip.
		mirror, other int
	}{
		"same host": {func(*testing.T, *world, string) {}, 1, 0},
		"zip on another host": {func(t *testing.T, w *world, elsewhere string) {
			w.list(t, "1.2.3", map[string]entry{haiku.String(): {URL: "https://" + elsewhere + "/" + name, Hashes: []string{sums.ZH(digest.FromBytes(w.zips[haiku]))}}})
		}, 0, 0},
		"zip redirected": {func(_ *testing.T, w *world, elsewhere string) {
			w.handlers[name] = http.RedirectHandler("https://"+elsewhere+"/"+name, http.StatusFound).ServeHTTP
		}, 1, 0},
		"document redirected": {func(_ *testing.T, w *world, elsewhere string) {
			w.handlers["1.2.3.json"] = http.RedirectHandler("https://"+elsewhere+"/1.2.3.json", http.StatusFound).ServeHTTP
		}, 0, 0},
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.withToken()
			received := 0
			elsewhere := registrytest.Serve(t, w.ca, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "" {
					received++
				}
				if strings.HasSuffix(r.URL.Path, ".json") {
					rw.Header().Set("Content-Type", "application/json")
				}
				_, _ = rw.Write(w.files[r.URL.Path[1:]])
			}))
			test.prepare(t, w, elsewhere)
			if _, err := w.read(t, "1.2.3", haiku); err != nil {
				t.Fatal(err)
			}
			if w.authorized["index.json"] != 1 || w.authorized[name] != test.mirror || received != test.other {
				t.Errorf("tokens: index %d, zip %d, other host %d", w.authorized["index.json"], w.authorized[name], received)
			}
		})
	}
}

// TestTokenIsRefused checks that errors name the origin of a rejected token.
func TestTokenIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"index.json", "1.2.3.json", "terraform-provider-thing_1.2.3_haiku_riscv64.zip"} {
		w := newWorld(t)
		w.withToken()
		w.handlers[name] = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) }
		_, err := w.read(t, "1.2.3", haiku)
		if !errors.Is(err, origin.ErrToken) || !errors.Is(err, provider.ErrForbidden) || !strings.Contains(err.Error(), "the vault") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
