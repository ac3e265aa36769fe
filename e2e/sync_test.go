package e2e_test

import (
	"archive/zip"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// syncRun runs a sync command with a declaration, and returns its output and exit code.
func syncRun(t *testing.T, dir, config string, args ...string) (out string, code int) {
	t.Helper()
	cmd := command(t, programs.tofuOCI, append([]string{"sync"}, append(args, "--config", config, "--ca-file", world.caFile)...)...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	return string(text), exitCode(err)
}

// installs returns the version of hashicorp/time that tofu init installs from a repository.
func installs(t *testing.T, repository string) string {
	t.Helper()
	dir, cli := t.TempDir(), filepath.Join(t.TempDir(), "tofurc")
	write(t, filepath.Join(dir, "main.tf"), "terraform {\n  required_providers {\n    time = { source = \"hashicorp/time\" }\n  }\n}\n")
	write(t, cli, run(t, programs.tofuOCI, "tofurc", repository))
	tofu(t, dir, cli, "init", "-input=false", "-no-color")
	locked, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{fixture.TimeVersion, badVersion} {
		if strings.Contains(string(locked), strconv.Quote(v)) {
			return v
		}
	}
	return "none"
}

// TestSync applies a declaration with two targets. The real OpenTofu must install
// mirrored, copied, and restored versions, and must not find pruned and denied
// versions.
func TestSync(t *testing.T) {
	t.Parallel()
	const newest, older = fixture.TimeVersion, badVersion
	_, config := serveOrigin(t, origintest.Options{}, world.release, badRelease(t))
	host, dir := startRegistry(t), t.TempDir()
	main, dr := host+"/main/{namespace}/{type}", host+"/dr/{namespace}/{type}"
	// declare writes the declaration. Unselected versions can be removed immediately.
	declare := func(versions, blocks string) {
		write(t, filepath.Join(dir, "mirror.hcl"), fmt.Sprintf(`version    = 1
lock_files = ["live/*/.terraform.lock.hcl"]

target "main" {
  repository = %q
}
target "dr" {
  repository = %q
  from       = "main"
}
defaults {
  latest = "all"
}
provider "hashicorp/time" {
  versions = %q
}
prune {
  mode          = "delete"
  keep_previous = 0
  keep_for      = "0s"
}
%s`, main, dr, versions, blocks))
	}
	// expect applies the declaration, and checks what OpenTofu installs and the tags of both targets.
	expect := func(code int, version, tags string) {
		t.Helper()
		if out, got := syncRun(t, dir, config, "apply"); got != code {
			t.Fatalf("sync apply: exit code %d, want %d\n%s", got, code, out)
		}
		for _, repository := range []string{main, dr} {
			if got := installs(t, repository); got != version {
				t.Errorf("OpenTofu installs %s from %s, want %s", got, repository, version)
			}
			kept := slices.DeleteFunc(tagsOf(t, repository), func(tag string) bool { return strings.HasPrefix(tag, "sha256-") || tag == "tofu-oci-sync" })
			slices.Sort(kept)
			if got := strings.Join(kept, " "); got != tags {
				t.Errorf("%s has the tags %s, want %s", repository, got, tags)
			}
		}
	}
	// 1. Select the older version in a lock file.
	write(t, filepath.Join(dir, "live", "app", ".terraform.lock.hcl"), fmt.Sprintf("provider \"registry.opentofu.org/hashicorp/time\" {\n  version = %q\n}\n", older))
	declare(newest, "")
	if out, code := syncRun(t, dir, config, "plan", "--detailed-exitcode"); code != 10 || strings.Count(out, "\ncopy ") != 2 {
		t.Errorf("sync plan: exit code %d\n%s", code, out)
	}
	expect(0, newest, older+" "+newest)
	if out, code := syncRun(t, dir, config, "plan", "--detailed-exitcode"); code != 0 {
		t.Errorf("sync plan after apply: exit code %d\n%s", code, out)
	}
	// 2. Deselect the newest version. The next runs mark and prune it.
	declare(older, "")
	expect(0, newest, older+" "+newest)
	expect(0, older, older+" pruned-"+newest)
	// 3. Select the newest version again.
	declare(newest, "")
	expect(0, newest, older+" "+newest)
	// 4. Deny the newest version.
	declare(newest, fmt.Sprintf("deny \"hashicorp/time\" {\n  versions = %q\n  reason   = \"withdrawn by its publisher\"\n}\n", newest))
	expect(0, older, older+" denied-"+newest)
	initializeInVain(t, run(t, programs.tofuOCI, "tofurc", main))
	if out, code := syncRun(t, dir, config, "plan", "--detailed-exitcode"); code != 0 || !strings.Contains(out, "withdrawn by its publisher") {
		t.Errorf("sync plan of a denied version: exit code %d\n%s", code, out)
	}
}

// pushes is a registry proxy that counts the uploads of each blob to each repository.
type pushes struct {
	proxy *httputil.ReverseProxy
	mu    sync.Mutex
	blobs map[string]int
	tags  map[string]int
}

func (p *pushes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	repository, upload, isUpload := strings.Cut(r.URL.Path, "/blobs/uploads/")
	tagged, tag, isManifest := strings.Cut(r.URL.Path, "/manifests/")
	p.mu.Lock()
	switch digest := r.URL.Query().Get("digest"); {
	case isUpload && r.Method == http.MethodPut && upload != "" && digest != "":
		p.blobs[repository+"@"+digest]++
	case isManifest && r.Method == http.MethodPut:
		p.tags[tagged+":"+tag]++
	}
	p.mu.Unlock()
	p.proxy.ServeHTTP(w, r)
}

// twice returns the keys with a count greater than one.
func twice(counted map[string]int) (keys []string) {
	for key, n := range counted {
		if n > 1 {
			keys = append(keys, key)
		}
	}
	return keys
}

// servePushes starts a registry and serves a proxy for it.
func servePushes(t *testing.T) (p *pushes, host string) {
	t.Helper()
	p = &pushes{proxy: registryProxy("https://" + startRegistry(t)), blobs: map[string]int{}, tags: map[string]int{}}
	url, stop, err := fixture.Serve(t.Context(), world.ca, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return p, strings.TrimPrefix(url, "https://")
}

// registryProxy returns a proxy for the registry at a URL.
func registryProxy(at string) *httputil.ReverseProxy {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(world.ca.PEM())
	scheme, host, _ := strings.Cut(at, "://")
	return &httputil.ReverseProxy{
		ErrorLog:  log.New(io.Discard, "", 0), // clients cancel requests
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 64},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: scheme, Host: host})
			r.Out.Host = r.In.Host // the registry redirects clients to this host
			r.Out.Header.Set("X-Forwarded-Proto", "https")
		},
	}
}

// smallRelease returns a release with random zips for two platforms.
func smallRelease(tb testing.TB, random *rand.ChaCha8, typ, version string) origintest.Release {
	tb.Helper()
	r := origintest.Release{Namespace: "acme", Type: typ, Version: version, Protocols: []string{"6.0"}, Archives: map[provider.Platform]origintest.Archive{}}
	for _, p := range world.platforms[:2] {
		var b bytes.Buffer
		archive := zip.NewWriter(&b)
		entry, err := archive.CreateHeader(&zip.FileHeader{Name: "terraform-provider-" + typ + "_v" + version, Method: zip.Store})
		content := make([]byte, 20<<10)
		_, _ = random.Read(content)
		if err == nil {
			_, err = entry.Write(content)
		}
		if err == nil {
			err = archive.Close()
		}
		if err != nil {
			tb.Fatal(err)
		}
		r.Archives[p] = origintest.Archive{Bytes: b.Bytes()}
	}
	return r
}

// TestSyncShards runs eight shards as concurrent processes. Together, the shards must
// mirror all releases. Each provider must belong to one shard, and no blob or tag may
// be pushed twice.
func TestSyncShards(t *testing.T) {
	t.Parallel()
	const shards, providers = 8, 40
	random := rand.NewChaCha8([32]byte{2})
	var releases []origintest.Release
	var lines strings.Builder
	for i := range providers {
		typ := fmt.Sprintf("part%d", i)
		fmt.Fprintf(&lines, "acme/%s\n", typ)
		for _, v := range []string{"1.0.0", "1.1.0"} {
			releases = append(releases, smallRelease(t, random, typ, v))
		}
	}
	_, config := serveOrigin(t, origintest.Options{}, releases...)
	p, host := servePushes(t)
	declare := func(name string) (dir string) {
		dir = t.TempDir()
		write(t, filepath.Join(dir, "providers.txt"), lines.String())
		write(t, filepath.Join(dir, "mirror.hcl"), fmt.Sprintf("version = 1\nsources = [\"providers.txt\"]\ntarget \"main\" {\n  repository = \"%s/%s/{type}\"\n}\ndefaults {\n  latest = \"all\"\n}\n", host, name))
		return dir
	}
	// 1. Run one process.
	if out, code := syncRun(t, declare("one"), config, "apply"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	// 2. Run eight processes.
	dir := declare("many")
	var group sync.WaitGroup
	for i := range shards {
		group.Go(func() {
			args := []string{"apply", "--shard", fmt.Sprintf("%d/%d", i+1, shards), "--result-file", filepath.Join(dir, fmt.Sprintf("result-%d.json", i+1))}
			if out, code := syncRun(t, dir, config, args...); code != 0 {
				t.Errorf("%v: exit code %d\n%s", args, code, out)
			}
		})
	}
	group.Wait()
	// 3. Check that each release occurs in exactly one result.
	found := map[string]int{}
	for i := range shards {
		for _, item := range readItems(t, filepath.Join(dir, fmt.Sprintf("result-%d.json", i+1))) {
			found[item]++
		}
	}
	if again := twice(found); len(found) != 2*providers || len(again) > 0 {
		t.Errorf("the shards have %d releases, want %d; more than one shard has %v", len(found), 2*providers, again)
	}
	for i := range providers {
		if tags := tagsOf(t, fmt.Sprintf("%s/many/part%d", host, i)); len(tags) != 2 {
			t.Errorf("part%d has the tags %v", i, tags)
		}
	}
	// 4. Check that nothing was pushed twice, except the empty config, which concurrent
	// releases of a provider share.
	p.mu.Lock()
	defer p.mu.Unlock()
	isConfig := func(key string) bool { return strings.HasSuffix(key, "@"+ocispec.DescriptorEmptyJSON.Digest.String()) }
	if again := slices.DeleteFunc(append(twice(p.blobs), twice(p.tags)...), isConfig); len(again) > 0 {
		t.Errorf("pushed more than once: %v", again)
	}
	if len(p.blobs) == 0 {
		t.Error("no uploads were counted")
	}
}

// readItems returns the provider and version of each item in a result.
func readItems(t *testing.T, path string) (items []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Items []struct{ Provider, Version string }
	}
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	for _, i := range result.Items {
		items = append(items, i.Provider+" "+i.Version)
	}
	return items
}
