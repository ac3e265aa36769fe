package serve_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// listed and offered are responses of the registry protocol.
type listed struct {
	Versions []struct {
		Version   string
		Protocols []string
		Platforms []struct{ OS, Arch string }
	}
	Warnings []string
}

func (l listed) versions() (all []string) {
	for _, v := range l.Versions {
		all = append(all, v.Version)
	}
	return all
}

type offered struct {
	Protocols    []string
	OS, Arch     string
	Filename     string
	DownloadURL  string `json:"download_url"`
	SumsURL      string `json:"shasums_url"`
	SignatureURL string `json:"shasums_signature_url"`
	Shasum       string
	SigningKeys  struct {
		Keys []struct {
			KeyID string `json:"key_id"`
			Armor string `json:"ascii_armor"`
		} `json:"gpg_public_keys"`
	} `json:"signing_keys"`
}

// verify verifies a package document as clients do.
func (w *world) verify(t *testing.T, got offered, zip []byte) {
	t.Helper()
	fetch := func(at string) []byte {
		u, err := url.Parse(at)
		if err != nil || !u.IsAbs() {
			t.Fatalf("%s is not an absolute URL: %v", at, err)
		}
		response := w.get(t, u.RequestURI(), "Host", u.Host)
		if response.Code != http.StatusOK {
			t.Fatalf("%s: got %d %s", at, response.Code, response.Body)
		}
		return response.Body.Bytes()
	}
	document, signature := fetch(got.SumsURL), fetch(got.SignatureURL)
	signed := false
	for _, k := range got.SigningKeys.Keys {
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(k.Armor))
		if err != nil {
			t.Fatal(err)
		}
		_, err = openpgp.CheckDetachedSignature(ring, bytes.NewReader(document), bytes.NewReader(signature), nil)
		if err != nil && !errors.Is(err, pgperrors.ErrUnknownIssuer) {
			t.Fatal(err)
		}
		signed = signed || err == nil
	}
	if !signed {
		t.Error("no key of the document signed the checksums")
	}
	line := strings.Fields(strings.Split(string(document), got.Filename)[0])
	if len(line) == 0 || line[len(line)-1] != got.Shasum || got.Shasum != digest.FromBytes(zip).Encoded() {
		t.Errorf("the checksums do not list %s as %s:\n%s", got.Filename, got.Shasum, document)
	}
	if !bytes.Equal(fetch(got.DownloadURL), zip) {
		t.Error("wrong archive")
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	author := newKey(t)
	for name, w := range map[string]*world{"layout": newLayout(t), "registry": newRegistry(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rocket{version: "1.0.0+build.7", key: author, host: "registry.terraform.io"}
			w.push(t, r)
			found := document[map[string]string](t, w.get(t, "/.well-known/terraform.json"))
			if diff := cmp.Diff(map[string]string{"providers.v1": "https://tofu.example.com/v1/providers/"}, found); diff != "" {
				t.Errorf("discovery (-want +got):\n%s", diff)
			}
			list := document[listed](t, w.get(t, "/v1/providers/acme/rocket/versions"))
			if diff := cmp.Diff([]string{"1.0.0+build.7"}, list.versions()); diff != "" || list.Warnings != nil {
				t.Errorf("%q, versions (-want +got):\n%s", list.Warnings, diff)
			}
			if v := list.Versions[0]; !slices.Equal(v.Protocols, []string{"5.0", "6.0"}) || len(v.Platforms) != 2 || v.Platforms[1].OS != "plan9" {
				t.Errorf("got %+v", v)
			}
			got := document[offered](t, w.get(t, "/v1/providers/acme/rocket/1.0.0+build.7/download/plan9/mips"))
			if got.OS != "plan9" || got.Arch != "mips" || !slices.Equal(got.Protocols, []string{"5.0", "6.0"}) {
				t.Errorf("got %+v", got)
			}
			w.verify(t, got, r.zipOf(plan9))
			if got := w.get(t, "/v1/providers/acme/rocket/1.0.0+build.7/download/beos/mips"); got.Code != http.StatusNotFound {
				t.Errorf("no package: got %d", got.Code)
			}
			if got := w.get(t, "/v1/providers/acme/rockot/versions"); got.Code != http.StatusNotFound {
				t.Errorf("no provider: got %d", got.Code)
			}
		})
	}
}

// TestUnsigned checks versions that no client would install. They are omitted from the
// list and mentioned in a warning.
func TestUnsigned(t *testing.T) {
	t.Parallel()
	author := newKey(t)
	releases := []rocket{
		{version: "2.0.0", key: author},
		{version: "1.9.0", noSums: true},
		{version: "1.8.0"},
		{version: "1.7.0", key: author, noKeys: true},
		{version: "1.6.0", key: author, sums: func(b []byte) []byte { return append([]byte("\n"), b...) }},
		{version: "1.5.0", sums: func(b []byte) []byte { return append(b, "\n\n"...) }},
		{version: "1.4.0", key: author},
	}
	server := newKey(t)
	for _, test := range []struct {
		name   string
		signer artifact.Signer
		want   []string
	}{
		{"without a signing key", nil, []string{"2.0.0", "1.4.0"}},
		{"with a token", server.signer(t), []string{"2.0.0", "1.9.0", "1.8.0", "1.7.0", "1.5.0", "1.4.0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newLayout(t, func(o *serve.Options) { o.Signer = test.signer })
			for _, r := range releases {
				w.push(t, r)
			}
			list := document[listed](t, w.get(t, "/v1/providers/acme/rocket/versions"))
			if diff := cmp.Diff(test.want, list.versions()); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
			if len(list.Warnings) != 1 || !strings.Contains(list.Warnings[0], "1.6.0") {
				t.Errorf("warnings: %q", list.Warnings)
			}
			for _, r := range releases {
				response := w.get(t, "/v1/providers/acme/rocket/"+r.version+"/download/haiku/riscv64")
				if !slices.Contains(test.want, r.version) {
					if response.Code != http.StatusNotFound || !strings.Contains(response.Body.String(), "is not available through") {
						t.Errorf("%s: got %d %s", r.version, response.Code, response.Body)
					}
					continue
				}
				w.verify(t, document[offered](t, response), r.zipOf(haiku))
			}
			if len(w.omitted) != len(releases)-len(test.want) {
				t.Errorf("events: %q", w.omitted)
			}
			// The network mirror protocol lists all versions.
			got := document[map[string]map[string]struct{}](t, w.get(t, mirrored+"index.json"))
			if len(got["versions"]) != len(releases) {
				t.Errorf("the network mirror has %v", got)
			}
		})
	}
}

// TestSignaturesForClients checks that the server doesn't send signatures that clients
// can't process.
func TestSignaturesForClients(t *testing.T) {
	t.Parallel()
	author, other := newKey(t), newKey(t)
	garbage := bytes.Replace(other.public(t), []byte("\n\n"), []byte("\n\nAAAA"), 1)
	for name, r := range map[string]rocket{
		"with armor":        {armored: true},
		"another key first": {keys: append(other.public(t), author.public(t)...)},
		"invalid key":       {keys: append(garbage, author.public(t)...)},
		"CRLF line endings": {sums: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLayout(t)
			r.version, r.key = "1.0.0", author
			w.push(t, r)
			list := document[listed](t, w.get(t, "/v1/providers/acme/rocket/versions"))
			if len(list.Versions) != 1 {
				t.Fatalf("got %+v, omitted %q", list, w.omitted)
			}
			w.verify(t, document[offered](t, w.get(t, "/v1/providers/acme/rocket/1.0.0/download/plan9/mips")), r.zipOf(plan9))
		})
	}
}

// TestBadSignature checks that the server never signs checksums that have an invalid
// signature.
func TestBadSignature(t *testing.T) {
	t.Parallel()
	w := newLayout(t, func(o *serve.Options) { o.Signer = newKey(t).signer(t) })
	author := newKey(t)
	w.push(t, rocket{version: "1.0.0", key: author})
	w.push(t, rocket{version: "1.1.0", key: author, badSignature: true})
	list := document[listed](t, w.get(t, "/v1/providers/acme/rocket/versions"))
	if diff := cmp.Diff([]string{"1.0.0"}, list.versions()); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

// TestListCached checks that listing the versions again requires only one list of tags
// from the registry.
func TestListCached(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newRegistry(t)
	author := newKey(t)
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		w.push(t, rocket{version: version, key: author})
	}
	document[listed](t, w.get(t, "/v1/providers/acme/rocket/versions"))
	before := w.registry.Requests()
	w.clock.Forward(serve.DefaultMaxAge)
	document[listed](t, w.get(t, "/v1/providers/acme/rocket/versions"))
	for kind, n := range w.registry.Requests() {
		if want := map[registrytest.Kind]int{registrytest.Tags: 1}[kind]; n-before[kind] != want {
			t.Errorf("%d requests for %s, want %d", n-before[kind], kind, want)
		}
	}
}

// TestHosts checks that a published host has its own providers.
func TestHosts(t *testing.T) {
	t.Parallel()
	author := newKey(t)
	theirs := newLayout(t)
	r := rocket{version: "3.0.0", key: author}
	theirs.push(t, r)
	w := newLayout(t, func(o *serve.Options) {
		o.Rules = ruled(t, everyone+`host "rockets.example.com:8443" {
  repository = "`+theirs.template+`"
  as = "example.org"
}`)
		o.Key, o.Now = access.NewArchiveKey(), present()
		o.BaseURL = &url.URL{Scheme: "https", Host: "tofu.example.com", Path: "/providers/"}
	})
	w.push(t, rocket{version: "1.0.0", key: author})
	for host, want := range map[string]string{"Rockets.example.com:8443": "3.0.0", "tofu.example.com": "1.0.0"} {
		list := document[listed](t, w.get(t, "/v1/providers/acme/rocket/versions", "Host", host))
		if diff := cmp.Diff([]string{want}, list.versions()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", host, diff)
		}
	}
	got := document[offered](t, w.get(t, "/providers/v1/providers/acme/rocket/3.0.0/download/plan9/mips", "Host", "rockets.example.com:8443"))
	if !strings.HasPrefix(got.DownloadURL, "https://rockets.example.com:8443/") {
		t.Errorf("got %s", got.DownloadURL)
	}
	w.verify(t, got, r.zipOf(plan9))
}

// TestBase checks that URLs contain the address that clients can reach.
func TestBase(t *testing.T) {
	t.Parallel()
	forwarded := []string{"X-Forwarded-Host", "evil.example.com, front.example.com", "X-Forwarded-Proto", "http", "X-Forwarded-Prefix", "/tofu"}
	trust := func(o *serve.Options) { o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} } // httptest requests come from this address
	base := func(o *serve.Options) { o.BaseURL = &url.URL{Scheme: "https", Host: "a.example.com", Path: "/b/"} }
	for _, test := range []struct {
		name    string
		options []func(*serve.Options)
		headers []string
		want    string
	}{
		{"as requested", nil, nil, "https://tofu.example.com"},
		{"a port", nil, []string{"Host", "localhost:8443"}, "https://localhost:8443"},
		{"an address", nil, []string{"Host", "[::1]:8443"}, "https://[::1]:8443"},
		{"no trusted proxy", nil, forwarded, "https://tofu.example.com"},
		{"a proxy", []func(*serve.Options){trust}, forwarded, "http://front.example.com/tofu"},
		{"configured URL", []func(*serve.Options){trust, base}, forwarded, "https://a.example.com/b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newLayout(t, test.options...)
			got := document[map[string]string](t, w.get(t, "/.well-known/terraform.json", test.headers...))
			if got["providers.v1"] != test.want+"/v1/providers/" {
				t.Errorf("got %q", got)
			}
		})
	}
	w := newLayout(t, trust)
	for _, host := range []string{"a b", "a/b", "x@y", "\"", ""} {
		if got := w.get(t, "/.well-known/terraform.json", "Host", host); got.Code != http.StatusBadRequest {
			t.Errorf("%q: got %d %s", host, got.Code, got.Body)
		}
	}
	// The client is the last address that is not a trusted proxy.
	w.get(t, "/healthz", "X-Forwarded-For", "203.0.113.9, 198.51.100.7, 192.0.2.44")
	if got := w.last().Client; got != "198.51.100.7" {
		t.Errorf("the client is %s", got)
	}
}
