//go:build linux

package e2e_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
)

// Limits that docs/security.md promises for any server response. Memory usage stays
// below hostileMemory. The number of requests for one release or list stays below
// hostileRequests.
const (
	hostileMemory   = 256 << 20
	hostileRequests = 1100
	// maxManifest is OpenTofu's size limit for a manifest, in bytes.
	maxManifest  = 4 << 20
	typeProvider = "application/vnd.opentofu.provider"
)

// TestHostileServersAreBounded runs the real program against servers that send as much
// data as they can. It checks the peak memory that the kernel reports.
func TestHostileServersAreBounded(t *testing.T) {
	t.Parallel()
	list := []string{"list", "acme/thing", "--from"}
	listRelease := []string{"list", "acme/thing@1.0.0", "--from"}
	examine := []string{"doctor", "acme/thing", "--config"}
	mirror := []string{"mirror", "acme/thing@1.0.0", "--to", "oci-layout:out"}
	mirrorAll := []string{"mirror", "acme/thing", "--all", "--to", "oci-layout:out"}
	pullMany := []string{"pull"}
	for i := range manyReleases {
		pullMany = append(pullMany, fmt.Sprintf("acme/thing@1.%d.0", i))
	}
	for i := range 6 {
		pullMany = append(pullMany, "--platform", fmt.Sprintf("os%d_a", i))
	}
	pullMany = append(pullMany, "--dir", "out", "--from")
	for name, test := range map[string]struct {
		answer hostile
		args   []string
	}{
		"versions, a bomb of gzip":        {hostile{"/versions": bomb(1 << 30)}, mirror},
		"versions, too many values":       {hostile{"/versions": elements(`{"versions":[`, `{}`, 8<<20/3)}, mirror},
		"versions, as many as may be":     {hostile{"/versions": elements(`{"versions":[`, `{}`, 524_000)}, mirror},
		"versions, platforms":             {hostile{"/versions": elements(`{"versions":[{"version":"1.0.0","platforms":[`, `{}`, 524_000)}, mirror},
		"versions, texts":                 {hostile{"/versions": elements(`{"versions":[{"version":"1.0.0","protocols":[`, `"123456789012"`, 520_000)}, mirror},
		"package documents":               {hostile{"/versions": platforms, "/download/": padded(3 << 10), "SHA256SUMS": spaces(1 << 20)}, mirror},
		"package documents and documents": {hostile{"/versions": platforms, "/download/": padded(3 << 10), "SHA256SUMS": different(1<<20 - 64)}, mirror},
		"package documents with keys":     {hostile{"/versions": platforms, "/download/": padded(250 << 10), "SHA256SUMS": spaces(1 << 20)}, mirror},
		"package documents of many":       {hostile{"/versions": manyVersions, "/download/": padded(3 << 10), "SHA256SUMS": spaces(1 << 20)}, mirrorAll},
		"manifests of many":               {manifests(`"layers":[{}`, `,{}`), pullMany},
		"manifests of many texts":         {manifests(`"annotations":{"x":"`, `y`, `"}`), pullMany},
		"pages of tags":                   {hostile{"/tags/list": page(`{"tags":[`, `"1.0.0"`, 99_000)}, list},
		"pages of long tags":              {hostile{"/tags/list": page(`{"tags":[`, `"`+strings.Repeat("a", 1<<20)+`"`, 3)}, list},
		"pages of nothing":                {hostile{"/tags/list": page(`{"tags":[`, `""`, 1)}, list},
		"a page of objects":               {hostile{"/tags/list": page(`{"tags":[`, `{}`, 1<<20)}, list},
		"tags of doctor":                  {hostile{"/tags/list": elements(`{"tags":[`, `"v%d"`, 99_000)}, examine},
		"manifests of platforms":          {manifests(`"layers":[{}`, `,{}`), listRelease},
		"manifests of one text":           {manifests(`"annotations":{"x":"`, `y`, `"}`), listRelease},
		"manifests of annotations":        {manifests(`"annotations":{"":""`, `,"":""`, `}`), listRelease},
		"documents":                       {documents(), []string{"pull", "acme/thing@1.0.0", "--platform", "os1_a", "--dir", "out", "--with-documents", "--from"}},
		"referrers":                       {withReferrers(page(`{"manifests":[`, `{}`, 1<<20)), listRelease},
		"many referrers":                  {withReferrers(page(`{"manifests":[`, `{"digest":"sha256:`+strings.Repeat("0", 64)+`","annotations":{"":""}}`, 900)), listRelease},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			url, stop, err := fixture.Serve(t.Context(), world.ca, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				test.answer.serve(w, r)
			}))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(stop)
			config := filepath.Join(t.TempDir(), "tofurc")
			repository := strings.TrimPrefix(url, "https://") + "/acme/{type}"
			write(t, config, fixture.CLIConfig(url)+
				fmt.Sprintf("provider_installation {\n  oci_mirror {\n    repository_template = %q\n  }\n}\n", strings.ReplaceAll(repository, "acme/{type}", "${hostname}/${namespace}/${type}")))
			args := append([]string{}, test.args...)
			switch args[len(args)-1] {
			case "--from":
				args = append(args, repository)
			case "--config":
				args = append(args, config)
			default:
				args = append(args, "--config", config)
			}
			cmd := command(t, programs.tofuOCI, append(args, "--ca-file", world.caFile)...)
			cmd.Dir = t.TempDir()
			most, text, _ := peak(t, cmd) // the program is allowed to fail
			t.Logf("%d MiB, %d requests: %.300s", most>>20, requests.Load(), text)
			if most > hostileMemory {
				t.Errorf("used %d MiB, want at most %d", most>>20, hostileMemory>>20)
			}
			allowed := int64(hostileRequests)
			if strings.Contains(name, " of many") {
				allowed *= manyReleases
			}
			if n := requests.Load(); n > allowed || n == 0 {
				t.Errorf("%d requests, want at most %d", n, allowed)
			}
		})
	}
}

// TestHostileLayoutIsBounded reads an image layout whose index.json has the maximum
// size.
func TestHostileLayoutIsBounded(t *testing.T) {
	t.Parallel()
	for name, index := range map[string]http.HandlerFunc{
		"too many values":       elements(`{"manifests":[`, `{}`, 16<<20/3-20),
		"as many as may be":     elements(`{"manifests":[`, `{}`, 262_000),
		"annotations":           elements(`{"manifests":[`, `{"annotations":{"org.opencontainers.image.ref.name":"1.0.%d"}}`, 87_000),
		"texts of all the rest": elements(`{"manifests":[`, `{"mediaType":"`+strings.Repeat("x", 1<<20-100)+`"}`, 15),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			written := httptest.NewRecorder()
			index(written, nil)
			write(t, filepath.Join(dir, "oci-layout"), `{"imageLayoutVersion":"1.0.0"}`)
			write(t, filepath.Join(dir, "index.json"), written.Body.String())
			cmd := command(t, programs.tofuOCI, "list", "acme/thing", "--from", "oci-layout:"+dir)
			most, text, _ := peak(t, cmd) // the program is allowed to fail
			t.Logf("%d MiB: %.200s", most>>20, text)
			if most > hostileMemory {
				t.Errorf("used %d MiB, want at most %d", most>>20, hostileMemory>>20)
			}
		})
	}
}

// TestHostileManifestsInALayoutAreBounded concurrently pulls many releases whose
// manifests have the maximum size that OpenTofu reads.
func TestHostileManifestsInALayoutAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	blobs := filepath.Join(dir, "blobs", "sha256")
	stored := manifests(`"layers":[{}`, `,{}`)["/manifests/"]
	read := func(reference string) string {
		written := httptest.NewRecorder()
		stored(written, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/manifests/"+reference, nil))
		return written.Body.String()
	}
	index := read("index")
	var tags []string
	for i := range manyReleases {
		tags = append(tags, fmt.Sprintf(`{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"sha256:%x","size":%d,"annotations":{"org.opencontainers.image.ref.name":"1.%d.0"}}`,
			sha256.Sum256([]byte(index)), len(index), i))
	}
	write(t, filepath.Join(dir, "oci-layout"), `{"imageLayoutVersion":"1.0.0"}`)
	write(t, filepath.Join(dir, "index.json"), `{"schemaVersion":2,"manifests":[`+strings.Join(tags, ",")+"]}")
	write(t, filepath.Join(blobs, fmt.Sprintf("%x", sha256.Sum256([]byte(index)))), index)
	args := []string{"pull", "--from", "oci-layout:" + dir, "--dir", t.TempDir()}
	var parsed struct {
		Manifests []struct{ Digest string }
	}
	if err := json.Unmarshal([]byte(index), &parsed); err != nil {
		t.Fatal(err)
	}
	for i, m := range parsed.Manifests[:2] { // a release with more manifests of this size exceeds the limit
		write(t, filepath.Join(blobs, strings.TrimPrefix(m.Digest, "sha256:")), read(m.Digest))
		args = append(args, "--platform", fmt.Sprintf("os%d_a", i))
	}
	for i := range manyReleases {
		args = append(args, fmt.Sprintf("acme/thing@1.%d.0", i))
	}
	most, text, _ := peak(t, command(t, programs.tofuOCI, args...)) // the program is expected to fail
	t.Logf("%d MiB: %.300s", most>>20, text)
	if most > hostileMemory {
		t.Errorf("used %d MiB, want at most %d", most>>20, hostileMemory>>20)
	}
}

// hostile maps parts of paths to handlers. All other paths return 404.
type hostile map[string]http.HandlerFunc

func (h hostile) serve(w http.ResponseWriter, r *http.Request) {
	for part, answer := range h {
		if strings.Contains(r.URL.Path, part) {
			answer(w, r)
			return
		}
	}
	http.NotFound(w, r)
}

// elements responds with a document that consists of begin and n copies of element. In
// each copy, the number of the element replaces %d.
func elements(begin, element string, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
		out := bytes.NewBufferString(begin)
		for i := range n {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(strings.ReplaceAll(element, "%d", strconv.Itoa(i)))
			if out.Len() > 64<<10 {
				if _, err := out.WriteTo(w); err != nil {
					return
				}
			}
		}
		for i := len(begin) - 1; i >= 0; i-- {
			switch begin[i] {
			case '[':
				out.WriteByte(']')
			case '{':
				out.WriteByte('}')
			case ']', '}':
				i = strings.LastIndexAny(begin[:i], "[{")
			}
		}
		_, _ = out.WriteTo(w)
	}
}

// page responds with a page of a list. The page links to the next page.
func page(begin, element string, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", fmt.Sprintf(`<%s?more=1>; rel="next"`, r.URL.Path))
		elements(begin, element, n)(w, r)
	}
}

// bomb responds with a compressed list whose decompressed size is size bytes.
func bomb(size int64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, `{"versions":[{}`)
		block := []byte(strings.Repeat(",{}", 64<<10))
		for sent := int64(0); sent < size; sent += int64(len(block)) {
			if _, err := z.Write(block); err != nil {
				return
			}
		}
	}
}

func spaces(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat(" ", n)) }
}

// different responds with n bytes, which differ for each URL.
func different(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("#", n)+r.URL.RawQuery)
	}
}

// platforms lists a version with the maximum number of platforms.
func platforms(w http.ResponseWriter, r *http.Request) {
	elements(`{"versions":[{"version":"1.0.0","platforms":[`, `{"os":"os%d","arch":"a"}`, 256)(w, r)
}

// manyReleases is the number of releases in tests with concurrent transfers.
const manyReleases = 12

// manyVersions lists manyReleases versions, each with the maximum number of platforms.
func manyVersions(w http.ResponseWriter, _ *http.Request) {
	var all, each []string
	for i := range 256 {
		each = append(each, fmt.Sprintf(`{"os":"os%d","arch":"a"}`, i))
	}
	for i := range manyReleases {
		all = append(all, fmt.Sprintf(`{"version":"1.%d.0","platforms":[%s]}`, i, strings.Join(each, ",")))
	}
	_, _ = io.WriteString(w, `{"versions":[`+strings.Join(all, ",")+"]}")
}

// padded responds with package documents. For each platform, the documents contain keys
// of the given size, list all platforms, and refer to separate signatures and
// checksums.
func padded(keys int) http.HandlerFunc {
	padding, key, others := strings.Repeat("p", 700<<10), strings.Repeat("k", keys), &strings.Builder{}
	for i := range 255 {
		_, _ = fmt.Fprintf(others, `,"os%d_a":{"hashes":["h1:`+strings.Repeat("A", 43)+`="]}`, i)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		before, platform, _ := strings.Cut(r.URL.Path, "/download/")
		version := path.Base(before)
		platform = strings.ReplaceAll(platform, "/", "_")
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"filename":"terraform-provider-thing_%[5]s_%[1]s.zip","download_url":"/zip","shasums_url":"/SHA256SUMS?%[1]s",
"signing_keys":{"gpg_public_keys":[{"ascii_armor":"%[2]s"}]},"padding":"%[3]s","packages":{"a_a":{}%[4]s}}`,
			platform, key+platform, padding, others, version)
	}
}

// manifests returns a release whose manifests have the maximum size that OpenTofu
// reads.
func manifests(begin, repeat string, end ...string) hostile {
	return release(maxManifest, begin, repeat, end...)
}

// release returns a release with the maximum number of platforms. Each manifest is size
// bytes long. A manifest starts with begin, contains as many copies of repeat as fit,
// and ends with end.
func release(size int, begin, repeat string, end ...string) hostile {
	const head = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"` + typeProvider + "-target" + `",`
	tail := strings.Join(end, "") + "}"
	if len(end) == 0 {
		tail = "]}"
	}
	n := (size - len(head) - len(begin) - len(tail) - 100) / len(repeat)
	if repeat != "y" {
		n = min(n, 16<<10-100) // the maximum number of elements that tofu-oci decodes
	}
	text := head + begin + strings.Repeat(repeat, n) + tail
	text += strings.Repeat(" ", size-8-len(text))
	stored := map[string]string{} // maps digests to the ends of manifests
	var entries []string
	for i := range 256 {
		last := numbered(i)
		sum := sha256.Sum256([]byte(text + last))
		d := "sha256:" + hex.EncodeToString(sum[:])
		stored[d] = last
		entries = append(entries, fmt.Sprintf(`{"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":%q,"digest":%q,"size":%d,"platform":{"os":"os%d","architecture":"a"}}`,
			typeProvider+"-target", d, len(text)+len(last), i))
	}
	index := `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","artifactType":"` + typeProvider + `","manifests":[` + strings.Join(entries, ",") + "]}"
	return hostile{"/manifests/": func(w http.ResponseWriter, r *http.Request) {
		_, reference, _ := strings.Cut(r.URL.Path, "/manifests/")
		if last, ok := stored[reference]; ok {
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.Header().Set("Content-Length", strconv.Itoa(len(text)+len(last)))
			_, _ = io.WriteString(w, text)
			_, _ = io.WriteString(w, last)
			return
		}
		if strings.HasPrefix(reference, "denied-") { // a denial would end the command before it reads the release
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
		w.Header().Set("Content-Length", strconv.Itoa(len(index)))
		_, _ = io.WriteString(w, index)
	}}
}

// numbered encodes a number as white space.
func numbered(i int) string {
	var b strings.Builder
	for bit := range 8 {
		b.WriteByte(" \t"[i>>bit&1])
	}
	return b.String()
}

// withReferrers returns a release that responds to requests for referrers with list.
func withReferrers(list http.HandlerFunc) hostile {
	h := release(1000, `"layers":[{"mediaType":"archive/zip","digest":"sha256:`+strings.Repeat("0", 64)+`","size":1}`, " ", "]")
	h["/referrers/"] = list
	return h
}

// documents returns a release whose zips have referrers of the maximum size.
func documents() hostile {
	const size = 32 << 20
	content := strings.Repeat("x", size)
	sum := sha256.Sum256([]byte(content))
	d := "sha256:" + hex.EncodeToString(sum[:])
	layers := fmt.Sprintf(`"layers":[{"mediaType":"archive/zip","digest":%q,"size":%d}`, d, size)
	for i := range 4 {
		layers += fmt.Sprintf(`,{"mediaType":"application/spdx+json","digest":%q,"size":%d,"annotations":{"org.opencontainers.image.title":"terraform-provider-thing_1.0.0_os1_a.zip.%d.spdx.json"}}`, d, size, i)
	}
	h := release(4<<10, layers, " ", "]")
	h["/blobs/"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(size))
		_, _ = io.WriteString(w, content)
	}
	return h
}
