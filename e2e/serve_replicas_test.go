package e2e_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// replicas contains two servers that serve the same repository with a large archive.
// The servers share the key for signed URLs.
type replicas struct {
	client  *http.Client
	servers [2]*fixture.Server
	dirs    [2]string
	args    []string
	// archive is the content of the large archive.
	archive []byte
}

const replicaToken = "canary-of-replicas"

// largeArchive exceeds the buffers of a connection.
const largeArchive = 64 << 20

func newReplicas(t *testing.T) *replicas {
	t.Helper()
	dir := t.TempDir()
	r := &replicas{client: trusting(t, world.ca), archive: make([]byte, largeArchive)}
	_, _ = rand.Read(r.archive) // never fails
	address, err := provider.ParseAddress("acme/rocket")
	if err != nil {
		t.Fatal(err)
	}
	v, err := provider.ParseVersion("1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := fixture.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	release := provider.Release{Address: address, Version: v, Protocols: []string{"5.0"}}
	packages := map[provider.Platform][]byte{world.platforms[0]: r.archive}
	if err := fixture.PushRelease(t.Context(), repository.NewLayout(filepath.Join(dir, "rocket")), release, packages, signer); err != nil {
		t.Fatal(err)
	}
	hash, key := sha256.Sum256([]byte(replicaToken)), sha256.Sum256(r.archive)
	write(t, filepath.Join(dir, "rules.hcl"), fmt.Sprintf("token \"ci\" {\n  sha256 = %q\n  allow = [\"acme/*\"]\n}\nserver {\n  base_url        = \"https://localhost\"\n  url_signing_key = \"key\"\n}\n", hex.EncodeToString(hash[:])))
	write(t, filepath.Join(dir, "key"), hex.EncodeToString(key[:])+"\n")
	r.args = []string{
		"--from", "oci-layout:" + filepath.ToSlash(dir) + "/{type}",
		"--serve-config", filepath.Join(dir, "rules.hcl"),
	}
	for i := range r.servers {
		r.dirs[i] = t.TempDir()
		r.start(t, i)
	}
	return r
}

func (r *replicas) start(t *testing.T, i int) {
	t.Helper()
	server, err := fixture.StartServer(t.Context(), programs.tofuOCI, r.dirs[i], world.ca, r.args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	r.servers[i] = server
}

// get sends a request to server i and checks the response's status.
func (r *replicas) get(t *testing.T, i int, path string, want int, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.servers[i].URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for ; len(headers) > 1; headers = headers[2:] {
		req.Header.Set(headers[0], headers[1])
	}
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != want {
		t.Fatalf("%s: got %s", path, resp.Status)
	}
	return resp
}

// document requests a document from server i with credentials.
func (r *replicas) document(t *testing.T, i int, path string) []byte {
	t.Helper()
	content, err := io.ReadAll(r.get(t, i, path, http.StatusOK, "Authorization", "Bearer "+replicaToken).Body)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// link returns the archive's path as listed in the network mirror documents of server
// i.
func (r *replicas) link(t *testing.T, i int) string {
	t.Helper()
	const path = "/mirror/registry.opentofu.org/acme/rocket/1.0.0.json"
	var listed struct {
		Archives map[string]struct{ URL string }
	}
	if err := json.Unmarshal(r.document(t, i, path), &listed); err != nil {
		t.Fatal(err)
	}
	at, err := (&url.URL{Path: path}).Parse(listed.Archives[world.platforms[0].String()].URL)
	if err != nil {
		t.Fatal(err)
	}
	return at.Path
}

// TestServeReplicas checks that both servers return the same responses, and that each
// server accepts URLs that the other server signed.
func TestServeReplicas(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	download := "/v1/providers/acme/rocket/1.0.0/download/" + world.platforms[0].OS + "/" + world.platforms[0].Arch
	for _, path := range []string{
		"/mirror/registry.opentofu.org/acme/rocket/index.json", "/mirror/registry.opentofu.org/acme/rocket/1.0.0.json",
		"/v1/providers/acme/rocket/versions", download,
	} {
		one, two := r.document(t, 0, path), r.document(t, 1, path)
		// Signed URLs can change between two requests because a new key period starts.
		if !bytes.Equal(one, two) && !bytes.Equal(r.document(t, 0, path), two) {
			t.Errorf("%s: the replicas respond with\n%s\nand\n%s", path, one, two)
		}
	}
	for i := range r.servers {
		content, err := io.ReadAll(r.get(t, 1-i, r.link(t, i), http.StatusOK).Body)
		if err != nil || !bytes.Equal(content, r.archive) {
			t.Errorf("the link of server %d: got %d bytes, error %v", i, len(content), err)
		}
	}
}

// TestServeReplicaKilled kills a server during a download. A client resumes the
// download with the same path and signature. It must receive the rest of the archive
// from the second server, and from the restarted first server.
func TestServeReplicaKilled(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	link := r.link(t, 0)
	resp := r.get(t, 0, link, http.StatusOK)
	etag := resp.Header.Get("Etag")
	start := make([]byte, 1<<20)
	if _, err := io.ReadFull(resp.Body, start); err != nil {
		t.Fatal(err)
	}
	r.servers[0].Kill()
	more, err := io.ReadAll(resp.Body)
	if err == nil || len(start)+len(more) >= len(r.archive) {
		t.Fatalf("the transfer was not interrupted (%v)", err)
	}
	start = slices.Concat(start, more)
	r.start(t, 0)
	for i := range r.servers {
		resp := r.get(t, i, link, http.StatusPartialContent, "Range", fmt.Sprintf("bytes=%d-", len(start)), "If-Range", etag)
		rest, err := io.ReadAll(resp.Body)
		if err != nil || !bytes.Equal(slices.Concat(start, rest), r.archive) {
			t.Errorf("server %d: %d bytes and then %d are not the archive: %v", i, len(start), len(rest), err)
		}
	}
}
