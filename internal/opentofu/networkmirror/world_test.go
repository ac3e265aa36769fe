package networkmirror_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/networkmirror"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Platforms that no machine that runs these tests uses, and parsed values.
var (
	haiku, plan9            = nouns.Haiku, nouns.Plan9
	address, version, zipOf = nouns.Address, nouns.Version, nouns.Zip
)

// root is the path of the mirror on its server.
const root = "/mirrors/tofu/"

// entry is an entry of VERSION.json.
type entry struct {
	URL    string   `json:"url"`
	Hashes []string `json:"hashes,omitempty"`
}

// world is a network mirror with the provider acme/thing, and its origin registry. Version
// 1.2.3 has packages for two platforms, 1.0.0 for one.
type world struct {
	ca      *testca.CA
	host    string
	origin  *origintest.Origin
	options networkmirror.Options
	address provider.Address
	zips    map[provider.Platform][]byte

	mu sync.Mutex
	// handlers replace the files of the mirror. Their keys are file names.
	handlers map[string]http.HandlerFunc
	files    map[string][]byte
	// requests counts requests by file name, and authorized the requests with a token.
	requests, authorized map[string]int
	notes                []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		ca: ca, origin: origintest.New(origintest.Options{}),
		zips:     map[provider.Platform][]byte{haiku: zipOf(t, "haiku"), plan9: zipOf(t, "plan9")},
		handlers: map[string]http.HandlerFunc{}, files: map[string][]byte{}, requests: map[string]int{}, authorized: map[string]int{},
	}
	w.host = registrytest.Serve(t, ca, w)
	w.address = address(t, registrytest.Serve(t, ca, w.origin)+"/acme/thing")
	w.options = networkmirror.Options{HTTP: registrytest.Client(t, ca), OnNote: func(note string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.notes = append(w.notes, note)
	}}
	w.add(t, "1.0.0", map[provider.Platform][]byte{haiku: zipOf(t, "old")})
	w.add(t, "1.2.3", w.zips)
	return w
}

// add adds a version with zh hashes to the mirror, and to the origin registry.
func (w *world) add(t *testing.T, v string, zips map[provider.Platform][]byte) {
	t.Helper()
	entries := map[string]entry{}
	r := origintest.Release{Namespace: "acme", Type: "thing", Version: v, Archives: map[provider.Platform]origintest.Archive{}}
	for p, zip := range zips {
		name := provider.Filename(w.address, version(t, v), p)
		w.files[name] = zip
		entries[p.String()] = entry{name, []string{sums.ZH(digest.FromBytes(zip))}}
		r.Archives[p] = origintest.Archive{Bytes: zip}
	}
	w.list(t, v, entries)
	if err := w.origin.Add(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// list writes VERSION.json, and adds the version to index.json.
func (w *world) list(t *testing.T, v string, entries map[string]entry) {
	t.Helper()
	w.write(t, v+".json", map[string]any{"archives": entries})
	var index struct {
		Versions map[string]struct{} `json:"versions"`
	}
	if old := w.files["index.json"]; old != nil {
		if err := json.Unmarshal(old, &index); err != nil {
			t.Fatal(err)
		}
	} else {
		index.Versions = map[string]struct{}{"latest": {}}
	}
	index.Versions[v] = struct{}{}
	w.write(t, "index.json", index)
}

func (w *world) write(t *testing.T, name string, document any) {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	w.files[name] = text
}

// restate replaces the hashes of 1.2.3 for haiku.
func (w *world) restate(t *testing.T, v string, hashes ...string) {
	t.Helper()
	w.list(t, v, map[string]entry{haiku.String(): {provider.Filename(w.address, version(t, v), haiku), hashes}})
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	directory, name := path.Split(r.URL.Path)
	w.mu.Lock()
	w.requests[name]++
	if r.Header.Get("Authorization") != "" {
		w.authorized[name]++
	}
	file, handler := w.files[name], w.handlers[name]
	w.mu.Unlock()
	switch {
	case handler != nil:
		handler(rw, r)
	case file == nil, !strings.HasPrefix(directory, root), path.Base(directory) != "thing":
		http.NotFound(rw, r)
	default:
		if strings.HasSuffix(name, ".json") {
			rw.Header().Set("Content-Type", "application/json; charset=utf-8")
		}
		_, _ = rw.Write(file)
	}
}

// withOrigin makes sources use the origin registry.
func (w *world) withOrigin() {
	w.options.Origin = origin.New(origin.Options{HTTP: w.options.HTTP})
}

// withToken configures a token for the mirror's host, and other tokens for other hosts.
func (w *world) withToken() {
	w.options.Token = func(_ context.Context, host svchost.Hostname) (origin.Token, error) {
		if string(host) == w.host {
			return origin.Token{Value: "t0ken", From: "the vault"}, nil
		}
		return origin.Token{Value: "another host's"}, nil
	}
}

func (w *world) source(t *testing.T) *networkmirror.Source {
	t.Helper()
	base, err := networkmirror.ParseURL("https://"+w.host+strings.TrimSuffix(root, "/"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := networkmirror.New(base, w.options)
	s.SetOriginTimeout(patience.Limit)
	return s
}

// read reads a release and its zips.
func (w *world) read(t *testing.T, v string, only ...provider.Platform) (provider.Release, error) {
	t.Helper()
	s := w.source(t)
	r, err := s.Release(t.Context(), w.address, version(t, v), only...)
	if err != nil {
		return r, err
	}
	for _, p := range r.Packages {
		body, _, err := s.Open(t.Context(), p)
		if err != nil {
			return r, err
		}
		_, err = io.Copy(io.Discard, body)
		_ = body.Close()
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// text returns an error's message without variable parts.
func (w *world) text(err error) string {
	if err == nil {
		return ""
	}
	return strings.NewReplacer(w.host, "MIRROR", string(w.address.Host), "ORIGIN").Replace(err.Error())
}
