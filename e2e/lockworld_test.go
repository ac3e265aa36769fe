package e2e_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// lockHosts lists the hosts of the locked providers, as spelled in configurations. One
// origin registry serves all of these hosts.
var lockHosts = []string{
	provider.DefaultHost.String(), "example.com", "zulu.example", "例え.example", "bücher.example", "ärger.example", "example.com:8443",
}

// lockVersions lists the versions of every provider. All versions support the same
// platforms.
var lockVersions = []string{
	"0.9.0", "1.0.0", "1.0.1", "1.0.5", "1.2.0", "1.2.3", "2.0.0", "2.1.0-alpha", "2.1.0-beta.2+build.5", "2.3.4", "3.0.0-rc1", "10.0.0",
}

var lockPlatforms = provider.SortPlatforms([]provider.Platform{
	provider.CurrentPlatform(), {OS: "freebsd", Arch: "amd64"}, {OS: "openbsd", Arch: "arm"}, {OS: "windows", Arch: "386"},
})

// lockProvider configures a provider, NAMESPACE/TYPE, in the origin registry.
type lockProvider struct {
	// signed adds a key and a signature of SHA256SUMS to each release.
	signed bool
	// packages adds the hashes of all platforms to package documents.
	packages bool
	// more is appended to SHA256SUMS.
	more string
}

var lockProviders = map[string]lockProvider{
	"acme/alpha":    {signed: true, packages: true},
	"acme/plain":    {signed: true},
	"acme/unsigned": {packages: true},
	"acme/bare":     {},
	"acme/manifest": {signed: true, more: strings.Repeat("ab", 32) + "  terraform-provider-manifest_manifest.json\n"},
	"acme/garbled":  {signed: true, more: "abc  terraform-provider-garbled.txt\n"},
	"größe/straße":  {signed: true},
	"beta/alpha":    {signed: true},
}

// garbled reports whether SHA256SUMS contains an invalid line.
func (p lockProvider) garbled() bool { return strings.HasPrefix(p.more, "abc ") }

// lockWorld contains tiny packages of all providers. An origin registry and a network
// mirror serve the packages.
type lockWorld struct {
	// hosts contains the host blocks of a CLI configuration. The blocks refer to the
	// origin registry.
	hosts string
	// network is the URL of the network mirror.
	network string
	// packages maps "NAMESPACE/TYPE VERSION" to the version's packages.
	packages map[string]map[provider.Platform]lockPackage
}

// lockPackage is a zip and its hashes.
type lockPackage struct {
	name   string
	zip    []byte
	zh, h1 lockfile.Hash
}

func newLockWorld(t *testing.T) *lockWorld {
	t.Helper()
	w := &lockWorld{packages: map[string]map[provider.Platform]lockPackage{}}
	signer, err := fixture.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	origin := origintest.New(origintest.Options{})
	for name := range lockProviders {
		for _, version := range lockVersions {
			packages := tinyPackages(t, name, version)
			w.packages[name+" "+version] = packages
			if err := origin.Add(t.Context(), lockRelease(t, signer, name, version, packages)); err != nil {
				t.Fatal(err)
			}
		}
	}
	at := serve(t, origin)
	for _, host := range lockHosts {
		w.hosts += fmt.Sprintf("host %q {\n  services = {\n    \"providers.v1\" = \"%s/v1/providers/\"\n  }\n}\n", host, at)
	}
	w.network = serve(t, w.networkMirror()) + "/"
	return w
}

func serve(t *testing.T, handler http.Handler) (url string) {
	t.Helper()
	url, stop, err := fixture.Serve(t.Context(), world.ca, handler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

// tinyPackages creates a zip with one file for each platform.
func tinyPackages(t *testing.T, name, version string) map[provider.Platform]lockPackage {
	t.Helper()
	_, typ, _ := strings.Cut(name, "/")
	packages := map[provider.Platform]lockPackage{}
	for _, p := range lockPlatforms {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		entry, err := w.Create(executable(typ, version, p))
		if err == nil {
			_, err = fmt.Fprintln(entry, name, version, p)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		h1, err := origintest.H1(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatal(err)
		}
		packages[p] = lockPackage{
			name: fmt.Sprintf("terraform-provider-%s_%s_%s.zip", typ, version, p), zip: out.Bytes(),
			zh: lockfile.Hash(sums.ZH(digest.FromBytes(out.Bytes()))), h1: lockfile.Hash(h1),
		}
	}
	return packages
}

// executable returns the file name of a provider's executable.
func executable(typ, version string, p provider.Platform) string {
	name := "terraform-provider-" + typ + "_v" + version
	if p.OS == "windows" {
		name += ".exe"
	}
	return name
}

func lockRelease(t *testing.T, signer *fixture.Signer, name, version string, packages map[provider.Platform]lockPackage) origintest.Release {
	t.Helper()
	namespace, typ, _ := strings.Cut(name, "/")
	kind := lockProviders[name]
	r := origintest.Release{
		Namespace: namespace, Type: typ, Version: version, Protocols: []string{"5.0"}, Archives: map[provider.Platform]origintest.Archive{},
	}
	listed := map[string]digest.Digest{}
	for p, one := range packages {
		r.Archives[p] = origintest.Archive{Bytes: one.zip}
		listed[one.name] = digest.FromBytes(one.zip)
	}
	r.Sums = append(sums.New(listed).Bytes(), kind.more...)
	if kind.signed {
		var err error
		if r.Signature, err = signer.Sign(r.Sums); err != nil {
			t.Fatal(err)
		}
		r.Keys = []string{signer.PublicKey}
	}
	if !kind.packages {
		r.Edit = func(_ provider.Platform, document map[string]any) { delete(document, "packages") }
	}
	return r
}

// networkMirror serves all providers under all hosts.
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/
func (w *lockWorld) networkMirror() http.Handler {
	mux := http.NewServeMux()
	document := func(rw http.ResponseWriter, content any) {
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(content)
	}
	mux.HandleFunc("GET /{host}/{namespace}/{type}/index.json", func(rw http.ResponseWriter, _ *http.Request) {
		versions := map[string]any{}
		for _, v := range lockVersions {
			versions[v] = struct{}{}
		}
		document(rw, map[string]any{"versions": versions})
	})
	mux.HandleFunc("GET /{host}/{namespace}/{type}/{file}", func(rw http.ResponseWriter, r *http.Request) {
		archives := map[string]any{}
		version, isDocument := strings.CutSuffix(r.PathValue("file"), ".json")
		for key, packages := range w.packages {
			name, of, _ := strings.Cut(key, " ")
			if name != r.PathValue("namespace")+"/"+r.PathValue("type") || isDocument && of != version {
				continue
			}
			for p, one := range packages {
				if one.name == r.PathValue("file") {
					_, _ = rw.Write(one.zip)
				}
				archives[p.String()] = map[string]any{"url": one.name, "hashes": []lockfile.Hash{one.zh, one.h1}}
			}
		}
		if isDocument {
			document(rw, map[string]any{"archives": archives})
		}
	})
	return mux
}

// filesystemMirror writes all versions of the given providers to a new directory. The
// providers' paths have the form "HOST/NAMESPACE/TYPE".
func (w *lockWorld) filesystemMirror(t *testing.T, packed bool, addresses ...provider.Address) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, a := range addresses {
		at, name := filepath.Join(dir, filepath.FromSlash(a.String())), a.Namespace+"/"+a.Type
		for _, version := range lockVersions {
			for p, one := range w.packages[name+" "+version] {
				if packed {
					write(t, filepath.Join(at, one.name), string(one.zip))
					continue
				}
				write(t, filepath.Join(at, version, p.String(), executable(a.Type, version, p)), fmt.Sprintln(name, version, p))
			}
		}
	}
	return dir
}
