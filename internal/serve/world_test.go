package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

var haiku, plan9 = nouns.Haiku, nouns.Plan9

// clock is a clock that tests can set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// present returns a stopped clock with the current time. Servers that sign links need it,
// because links expire by the system clock.
func present() func() time.Time { return (&clock{now: time.Now()}).Now }

// world is a server backed by a repository with releases of acme/rocket.
type world struct {
	// template is the template for all providers. repo is the repository of
	// acme/rocket.
	template string
	open     func(template.Reference) (repository.Repository, error)
	repo     repository.Repository
	registry *registrytest.Registry // nil for a layout
	layout   string
	clock    *clock
	server   *serve.Server

	mu      sync.Mutex
	events  []serve.RequestEvent
	omitted []string
}

// newLayout returns a world that uses image layouts.
func newLayout(tb testing.TB, options ...func(*serve.Options)) *world {
	tb.Helper()
	dir := filepath.ToSlash(tb.TempDir())
	w := &world{layout: filepath.Join(dir, "rocket"), template: "oci-layout:" + dir + "/{type}"}
	w.open = func(ref template.Reference) (repository.Repository, error) {
		return repository.NewLayout(ref.Layout), nil
	}
	w.start(tb, options)
	return w
}

// newRegistry returns a world that uses a registry.
func newRegistry(tb testing.TB, options ...func(*serve.Options)) *world {
	tb.Helper()
	ca, err := testca.New()
	if err != nil {
		tb.Fatal(err)
	}
	w := &world{registry: registrytest.New(registrytest.Options{})}
	w.template = registrytest.Serve(tb, ca, w.registry) + "/acme/{type}"
	o := repository.Options{HTTP: registrytest.Client(tb, ca), Backoff: func(int) time.Duration { return 0 }}
	w.open = func(ref template.Reference) (repository.Repository, error) { return repository.Open(ref, o) }
	w.start(tb, options)
	return w
}

func (w *world) start(tb testing.TB, options []func(*serve.Options)) {
	tb.Helper()
	from, err := template.Parse(w.template)
	if err != nil {
		tb.Fatal(err)
	}
	ref, err := from.Repository(nouns.Address(tb, "acme/rocket"))
	if err != nil {
		tb.Fatal(err)
	}
	if w.repo, err = w.open(ref); err != nil {
		tb.Fatal(err)
	}
	w.clock = &clock{now: time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)}
	o := serve.Options{
		From: []template.Template{from}, Now: w.clock.Now,
		Open: func(ref template.Reference) (repository.Reader, error) { return w.open(ref) },
		Events: serve.Events{
			OnRequest: func(a serve.RequestEvent) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.events = append(w.events, a)
			},
			OnOmitted: func(_ provider.Address, v provider.Version, why string) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.omitted = append(w.omitted, v.String()+": "+why)
			},
		},
	}
	serve.SetTimeouts(&o, patience.Limit)
	for _, set := range options {
		set(&o)
	}
	if w.server, err = serve.New(o); err != nil {
		tb.Fatal(err)
	}
}

// last returns the event of the last request.
func (w *world) last() serve.RequestEvent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events[len(w.events)-1]
}

// get sends a request to the server without a network.
func (w *world) get(tb testing.TB, path string, headers ...string) *httptest.ResponseRecorder {
	tb.Helper()
	return w.ask(tb, http.MethodGet, path, headers...)
}

func (w *world) ask(tb testing.TB, method, path string, headers ...string) *httptest.ResponseRecorder {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), method, "https://tofu.example.com"+path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	response := httptest.NewRecorder()
	w.server.ServeHTTP(response, r)
	return response
}

// document parses a JSON response.
func document[T any](tb testing.TB, response *httptest.ResponseRecorder) (v T) {
	tb.Helper()
	if response.Code != http.StatusOK || response.Header().Get("Content-Type") != "application/json" {
		tb.Fatalf("got %d %s: %s", response.Code, response.Header().Get("Content-Type"), response.Body)
	}
	if err := json.Unmarshal(response.Body.Bytes(), &v); err != nil {
		tb.Fatal(err)
	}
	return v
}

// rocket is a release of acme/rocket.
type rocket struct {
	host, version string
	// key signs the checksums. If nil, the release is unsigned.
	key *key
	// noKeys omits the key. noSums omits the checksums.
	noKeys, noSums bool
	// badSignature signs different checksums. armored encodes the signature in a form
	// that clients can't read.
	badSignature, armored bool
	// keys replaces the key.
	keys []byte
	// sums changes the checksums before they are signed.
	sums func([]byte) []byte
	// unannotated omits the annotations of the index.
	unannotated bool
	// pending stages the release instead of publishing it.
	pending bool
	size    int
}

// zipOf returns the content of a package. It is not a zip, because the server doesn't open
// zips.
func (r rocket) zipOf(p provider.Platform) []byte {
	content := bytes.Repeat([]byte("acme/rocket "+r.version+" for "+p.String()+"\n"), 20)
	if r.size > len(content) {
		content = bytes.Repeat(content, r.size/len(content)+1)[:r.size]
	}
	return content
}

// push stores a release.
func (w *world) push(tb testing.TB, r rocket) digest.Digest {
	tb.Helper()
	if r.host == "" {
		r.host = string(provider.DefaultHost)
	}
	release := provider.Release{Address: nouns.Address(tb, r.host+"/acme/rocket"), Version: nouns.Version(tb, r.version), Protocols: []string{"5.0", "6.0"}}
	listed := map[string]digest.Digest{}
	for _, platform := range []provider.Platform{haiku, plan9} {
		content := r.zipOf(platform)
		p := provider.Package{
			Address: release.Address, Version: release.Version, Platform: platform,
			Filename: provider.Filename(release.Address, release.Version, platform),
			Digest:   digest.FromBytes(content), Size: int64(len(content)),
			H1: "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
		}
		if r.unannotated {
			p.H1 = ""
		}
		listed[p.Filename] = p.Digest
		if err := w.repo.PushBlob(tb.Context(), artifact.ZipDescriptor(p), bytes.NewReader(content)); err != nil {
			tb.Fatal(err)
		}
		release.Packages = append(release.Packages, p)
	}
	release.Documents = r.documents(tb, release, sums.New(listed).Bytes())
	packed, err := artifact.Pack(release, artifact.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tag := artifact.Tag(release.Version)
	if r.pending {
		tag = artifact.PendingTag(release.Version)
	}
	if _, _, err := repository.Push(tb.Context(), w.repo, packed, repository.Inspection{Tag: tag}, repository.PushOptions{}); err != nil {
		tb.Fatal(err)
	}
	return packed.Index.Descriptor.Digest
}

// tag adds a tag to a release.
func (w *world) tag(tb testing.TB, version, tag string) {
	tb.Helper()
	d, index, err := w.repo.Manifest(tb.Context(), version)
	if err != nil {
		tb.Fatal(err)
	}
	if err := w.repo.PushTag(tb.Context(), artifact.Blob{Descriptor: d, Bytes: index}, tag, ""); err != nil {
		tb.Fatal(err)
	}
}

func (r rocket) documents(tb testing.TB, release provider.Release, text []byte) []provider.Document {
	tb.Helper()
	if r.noSums {
		return nil
	}
	if r.sums != nil {
		text = r.sums(text)
	}
	name := provider.SumsName(release.Address, release.Version)
	all := []provider.Document{artifact.NewDocument(name, artifact.MediaTypeSums, text)}
	if r.key == nil {
		return all
	}
	signed := text
	if r.badSignature {
		signed = []byte("others")
	}
	signature, keys := r.key.sign(tb, signed), r.keys
	if r.armored {
		signature = armored(tb, openpgp.SignatureType, func(w io.Writer) error { _, err := w.Write(signature); return err })
	}
	all = append(all, artifact.NewDocument(name+".sig", artifact.MediaTypeSignature, signature))
	if keys == nil {
		keys = r.key.public(tb)
	}
	if !r.noKeys {
		all = append(all, artifact.NewDocument(name+".keys.asc", artifact.MediaTypeKeys, keys))
	}
	return all
}

// key is an OpenPGP key.
type key struct{ *openpgp.Entity }

func newKey(tb testing.TB) *key {
	tb.Helper()
	entity, err := openpgp.NewEntity("acme", "", "acme@example.com", nil)
	if err != nil {
		tb.Fatal(err)
	}
	return &key{entity}
}

func (k *key) sign(tb testing.TB, text []byte) []byte {
	tb.Helper()
	var signature bytes.Buffer
	if err := openpgp.DetachSign(&signature, k.Entity, bytes.NewReader(text), nil); err != nil {
		tb.Fatal(err)
	}
	return signature.Bytes()
}

func (k *key) public(tb testing.TB) []byte {
	tb.Helper()
	return armored(tb, openpgp.PublicKeyType, k.Serialize)
}

// signer converts the key to a signer.
func (k *key) signer(tb testing.TB) trust.Signer {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "key.asc")
	secret := armored(tb, openpgp.PrivateKeyType, func(w io.Writer) error { return k.SerializePrivate(w, nil) })
	if err := os.WriteFile(path, secret, 0o600); err != nil {
		tb.Fatal(err)
	}
	signer, err := trust.ReadSigner(path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return signer
}

func armored(tb testing.TB, kind string, write func(io.Writer) error) []byte {
	tb.Helper()
	var text bytes.Buffer
	w, err := armor.Encode(&text, kind, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if err := write(w); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return append(text.Bytes(), '\n')
}

// disconnectingRequest is a request whose client can disconnect.
type disconnectingRequest struct {
	recorder *httptest.ResponseRecorder
	request  *http.Request
}

func leaving(tb testing.TB) (l disconnectingRequest, leave func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	return disconnectingRequest{httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, mirrored+"index.json", nil)}, cancel
}

func (w *world) finishedRequests() []serve.RequestEvent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}
