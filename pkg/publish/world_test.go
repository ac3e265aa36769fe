package publish_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// No machine that runs these tests uses one of these platforms.
var (
	haiku = provider.Platform{OS: "haiku", Arch: "riscv64"}
	minix = provider.Platform{OS: "minix", Arch: "vax"}
	plan9 = provider.Platform{OS: "plan9", Arch: "mips64"}
	zos   = provider.Platform{OS: "zos", Arch: "s390x"}
	all   = []provider.Platform{haiku, minix, plan9, zos}
)

const (
	originHost     = "registry.example.org"
	repositoryName = "acme/thing"
)

// world is an origin that offers acme/thing 1.2.3 for all platforms. It includes the
// options for publishing this release.
type world struct {
	// These fields configure publishers. If shared is set, all runs use it.
	shared      *publish.Publisher
	concurrency int
	tempDir     string
	progress    provider.Progress
	acquire     func(context.Context, int64) (func(), error)

	ca      *testca.CA
	client  *http.Client
	origin  *origintest.Origin
	url     string
	address provider.Address
	version provider.Version
	zips    map[provider.Platform][]byte
}

func newWorld(t *testing.T, o origintest.Options) *world {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{ca: ca, client: registrytest.Client(t, ca), origin: origintest.New(o), zips: map[provider.Platform][]byte{}}
	w.url = "https://" + registrytest.Serve(t, ca, w.origin)
	w.address, err = provider.ParseAddress(originHost + "/acme/thing")
	if err != nil {
		t.Fatal(err)
	}
	w.version, err = provider.ParseVersion("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		w.zips[p] = zipOf(t, p.String())
	}
	w.offer(t, w.release(all...))
	return w
}

// release returns version 1.2.3 for the given platforms. Tests can modify the release
// and offer it again.
func (w *world) release(platforms ...provider.Platform) origintest.Release {
	r := origintest.Release{
		Version: "1.2.3", Protocols: []string{"5.0", "6.0"}, Archives: map[provider.Platform]origintest.Archive{},
		Signature: []byte("a signature"), Keys: []string{"a key"},
	}
	for _, p := range platforms {
		r.Archives[p] = origintest.Archive{Bytes: w.zips[p]}
	}
	return r
}

func (w *world) offer(t *testing.T, r origintest.Release) {
	t.Helper()
	r.Namespace, r.Type = "acme", "thing"
	if err := w.origin.Add(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// source returns a new source, because each run uses a separate source.
func (w *world) source() *origin.Source {
	return origin.New(origin.Options{
		HTTP: w.client, Services: map[svchost.Hostname]string{originHost: w.url + "/v1/providers/"},
	})
}

// requestsSince returns the number of requests to the origin after the given counts
// were taken.
func (w *world) requestsSince(since map[origintest.Kind]int) map[origintest.Kind]int {
	now := w.origin.Requests()
	for kind, n := range since {
		if now[kind] -= n; now[kind] == 0 {
			delete(now, kind)
		}
	}
	return now
}

// target is an OCI repository to publish to.
type target struct {
	// dir is the directory of a layout. registry and host belong to a registry.
	dir      string
	registry *registrytest.Registry
	host     string
	options  repository.Options
	// create creates a missing repository. If nil, missing repositories are not
	// created.
	create func(context.Context) error
}

func (w *world) layout(t *testing.T) *target {
	t.Helper()
	return &target{dir: filepath.Join(t.TempDir(), "layout")}
}

func (w *world) registry(t *testing.T, o registrytest.Options) *target {
	t.Helper()
	to := &target{registry: registrytest.New(o), options: repository.Options{HTTP: w.client, ConfirmDelay: time.Millisecond}}
	to.options.Backoff = func(int) time.Duration { return 0 }
	to.host = registrytest.Serve(t, w.ca, to.registry)
	return to
}

// registryInMemory returns a registry for runs in a synctest bubble.
func registryInMemory(t *testing.T, o registrytest.Options) *target {
	t.Helper()
	to := &target{registry: registrytest.New(o)}
	host, client := registrytest.ServeInMemory(t, to.registry)
	to.host, to.options = host, repository.Options{HTTP: client, PlainHTTP: []string{host}, ConfirmDelay: time.Millisecond}
	to.options.Backoff = func(int) time.Duration { return 0 }
	return to
}

// open returns a new Repository value, because each run uses a separate value.
func (to *target) open(t *testing.T) repository.Repository {
	t.Helper()
	ref := template.Reference{Layout: filepath.ToSlash(to.dir)}
	if to.registry != nil {
		ref = template.Reference{Registry: to.host, Name: repositoryName}
	}
	r, err := repository.Open(ref, to.options)
	if err != nil {
		t.Fatal(err)
	}
	if to.create != nil {
		r = publish.CreateMissing(r, to.create)
	}
	return r
}

// digest returns the digest that the version's tag points to, or "" if the tag does not
// exist.
func (to *target) digest(t *testing.T) digest.Digest {
	t.Helper()
	d, _, err := to.open(t).Manifest(t.Context(), "1.2.3")
	if err != nil {
		return ""
	}
	return d.Digest
}

func (to *target) has(t *testing.T, d digest.Digest) bool {
	t.Helper()
	_, err := to.open(t).Stat(t.Context(), ocispec.Descriptor{Digest: d})
	return err == nil
}

// lose deletes a blob or manifest.
func (to *target) lose(t *testing.T, d digest.Digest) {
	t.Helper()
	if to.registry != nil {
		to.registry.Delete(t, repositoryName, d.String())
		return
	}
	if err := os.Remove(to.path(d)); err != nil {
		t.Fatal(err)
	}
}

func (to *target) path(d digest.Digest) string {
	return filepath.Join(to.dir, "blobs", "sha256", d.Encoded())
}

// state returns a string that differs after every write.
func (to *target) state(t *testing.T) string {
	t.Helper()
	if to.registry != nil {
		return fmt.Sprintf("%d writing requests", to.registry.Writes())
	}
	var all strings.Builder
	err := filepath.WalkDir(to.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() == ".tofu-oci.lock" {
			return err
		}
		info, err := entry.Info()
		if err == nil && !entry.IsDir() {
			fmt.Fprintln(&all, path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil && to.dir != "" && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return all.String()
}

// eachTarget runs a scenario for a layout and for a registry. Each target has a
// separate world.
func eachTarget(t *testing.T, o origintest.Options, scenario func(t *testing.T, w *world, to *target)) {
	t.Helper()
	t.Run("layout", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, o)
		scenario(t, w, w.layout(t))
	})
	t.Run("registry", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, o)
		scenario(t, w, w.registry(t, registrytest.Options{}))
	})
}

// run publishes the release with a new source and repository, like a separate process.
func (w *world) run(t *testing.T, to *target, o publish.Options) (publish.Result, error) {
	t.Helper()
	return w.runOver(t.Context(), to.open(t), o)
}

func (w *world) runOver(ctx context.Context, repo repository.Repository, o publish.Options) (publish.Result, error) {
	return w.publisher().Release(ctx, w.source(), repo, w.address, w.version, o)
}

// publisher returns the shared publisher or, if shared isn't set, a new publisher.
func (w *world) publisher() *publish.Publisher {
	if w.shared != nil {
		return w.shared
	}
	p := &publish.Publisher{Concurrency: w.concurrency, TempDir: w.tempDir, Progress: w.progress}
	return p.WithAcquire(w.acquire)
}

// publish publishes the release and checks the status.
func (w *world) publish(t *testing.T, to *target, want publish.Status, o publish.Options) publish.Result {
	t.Helper()
	result, err := w.run(t, to, o)
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

// sent returns the platforms whose zips were sent.
func sent(r publish.Result) []provider.Platform {
	var ps []provider.Platform
	for _, p := range r.Packages {
		if p.Sent {
			ps = append(ps, p.Package.Platform)
		}
	}
	return ps
}

func wantSent(t *testing.T, r publish.Result, want ...provider.Platform) {
	t.Helper()
	if diff := cmp.Diff(want, sent(r)); diff != "" {
		t.Errorf("zips sent: %s", diff)
	}
}

func platformsOf(r publish.Result) []provider.Platform {
	var ps []provider.Platform
	for _, p := range r.Packages {
		ps = append(ps, p.Package.Platform)
	}
	return ps
}

// stored reads the release and its zips through an OCI source.
func (w *world) stored(t *testing.T, to *target) provider.Release {
	t.Helper()
	s := oci.New(func(provider.Address) (repository.Reader, error) { return to.open(t), nil })
	r, err := s.Release(t.Context(), w.address, w.version)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Packages {
		body, _, err := s.Open(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		_ = body.Close()
		if err != nil || !bytes.Equal(got, w.zips[p.Platform]) {
			t.Errorf("%s: %d bytes, %v", p.Platform, len(got), err)
		}
	}
	return r
}

func (w *world) wantStored(t *testing.T, to *target, platforms ...provider.Platform) provider.Release {
	t.Helper()
	r := w.stored(t, to)
	if diff := cmp.Diff(platforms, r.Platforms()); diff != "" {
		t.Errorf("stored platforms: %s", diff)
	}
	return r
}

// zipOf returns a zip with the given text. The bytes do not depend on the Go version,
// and the zip can be read as a stream.
func zipOf(t *testing.T, text string) []byte {
	t.Helper()
	return zipNamed(t, "terraform-provider-thing_v1.2.3", text)
}

// zipNamed is like zipOf, for an executable with the given name.
func zipNamed(t *testing.T, name, text string) []byte {
	t.Helper()
	size := uint64(len(text))
	return zipWith(t, func(z *zip.Writer) (io.Writer, error) {
		return z.CreateRaw(&zip.FileHeader{
			Name: name, Method: zip.Store,
			CRC32: crc32.ChecksumIEEE([]byte(text)), CompressedSize64: size, UncompressedSize64: size,
		})
	}, text)
}

// zipOutOfOrder returns a zip that can't be read as a stream, because it contains a
// stored entry without a size.
func zipOutOfOrder(t *testing.T, text string) []byte {
	t.Helper()
	return zipWith(t, func(z *zip.Writer) (io.Writer, error) {
		return z.CreateHeader(&zip.FileHeader{Name: "terraform-provider-thing_v1.2.3", Method: zip.Store})
	}, text)
}

func zipWith(t *testing.T, create func(*zip.Writer) (io.Writer, error), text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := create(z)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bigZip returns a zip that is larger than the buffers of a connection.
func bigZip(t *testing.T) []byte {
	t.Helper()
	var text strings.Builder
	for sum := sha256.Sum256(nil); text.Len() < 4<<20; sum = sha256.Sum256(sum[:]) {
		text.Write(sum[:])
	}
	return zipOf(t, text.String())
}

func (w *world) zipDigest(p provider.Platform) digest.Digest { return digest.FromBytes(w.zips[p]) }

func without(p provider.Platform) []provider.Platform {
	return slices.DeleteFunc(slices.Clone(all), func(x provider.Platform) bool { return x == p })
}
