package verify_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/internal/verify"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// No machine that runs these tests uses one of these platforms.
var haiku, plan9 = nouns.Haiku, nouns.Plan9

const tag = "1.2.3"

// world is an origin that offers acme/thing 1.2.3, and a repository with this release.
type world struct {
	origin   *origintest.Origin
	client   *http.Client
	services map[svchost.Hostname]string
	registry *registrytest.Registry // nil for layouts
	repo     repository.Repository
	template template.Template
	address  provider.Address
	version  provider.Version
}

func newWorld(t *testing.T, layout bool) *world {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		origin: origintest.New(origintest.Options{}), client: registrytest.Client(t, ca),
		address: nouns.Address(t, "registry.example.org/acme/thing"), version: nouns.Version(t, tag),
	}
	w.services = map[svchost.Hostname]string{"registry.example.org": "https://" + registrytest.Serve(t, ca, w.origin) + "/v1/providers/"}
	text := "oci-layout:" + filepath.ToSlash(t.TempDir()) + "/{namespace}/{type}"
	if !layout {
		w.registry = registrytest.New(registrytest.Options{})
		text = registrytest.Serve(t, ca, w.registry) + "/mirror/{namespace}/{type}"
	}
	if w.template, err = template.Parse(text); err != nil {
		t.Fatal(err)
	}
	ref, err := w.template.Repository(w.address)
	if err == nil {
		w.repo, err = repository.Open(ref, repository.Options{HTTP: w.client})
	}
	if err != nil {
		t.Fatal(err)
	}
	w.offer(t, w.release(t))
	w.mirror(t, publish.Options{})
	return w
}

// eachWorld runs a test with a layout and a registry.
func eachWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	for name, layout := range map[string]bool{"layout": true, "registry": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, layout))
		})
	}
}

// release returns the release that the origin offers.
func (w *world) release(t *testing.T) origintest.Release {
	t.Helper()
	return origintest.Release{
		Namespace: "acme", Type: "thing", Version: tag, Protocols: []string{"5.0"},
		Archives: map[provider.Platform]origintest.Archive{haiku: {Bytes: nouns.Zip(t, "haiku")}, plan9: {Bytes: storedZip(t, "plan9", 0o755)}},
	}
}

func (w *world) offer(t *testing.T, r origintest.Release) {
	t.Helper()
	if err := w.origin.Add(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func (w *world) source() *origin.Source {
	return origin.New(origin.Options{HTTP: w.client, Services: w.services})
}

func (w *world) mirror(t *testing.T, o publish.Options) {
	t.Helper()
	if _, err := publish.Release(t.Context(), w.source(), w.repo, w.address, w.version, o); err != nil {
		t.Fatal(err)
	}
}

// verify checks all releases with a policy that does not require signatures.
func (w *world) verify(t *testing.T, o verify.Options) verify.Report {
	t.Helper()
	if o.Verify == nil {
		o.Verify = trust.Policy{Mode: trust.ModeOff}.Verify
	}
	o.Template = w.template
	ref, err := w.template.Repository(w.address)
	if err != nil {
		t.Fatal(err)
	}
	// Use a new Repository value, because it must not remember content from before the
	// modification.
	repo, err := repository.Open(ref, repository.Options{HTTP: w.client})
	if err != nil {
		t.Fatal(err)
	}
	report, err := verify.Repository(t.Context(), repo, []provider.Requirement{{Address: w.address}}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Failed {
		t.Errorf("%s: %v", f.Version, f.Err)
	}
	return report
}

// found formats findings as "severity code platform".
func found(r verify.Report) []string {
	all := []string{}
	for _, f := range r.Findings {
		text := string(f.Severity) + " " + f.Code
		if f.Subject.Platform != "" {
			text += " " + f.Subject.Platform
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// index returns the index that the tag points to.
func (w *world) index(t *testing.T) (ocispec.Descriptor, ocispec.Index) {
	t.Helper()
	d, data, err := w.repo.Manifest(t.Context(), tag)
	var x ocispec.Index
	if err == nil {
		err = json.Unmarshal(data, &x)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d, x
}

func (w *world) editIndex(t *testing.T, edit func(*ocispec.Index)) {
	t.Helper()
	was, x := w.index(t)
	edit(&x)
	if err := w.repo.PushTag(t.Context(), marshal(t, x.MediaType, x), tag, was.Digest); err != nil {
		t.Fatal(err)
	}
}

// manifest returns the manifest for haiku, the first platform.
func (w *world) manifest(t *testing.T) ocispec.Manifest {
	t.Helper()
	_, x := w.index(t)
	_, data, err := w.repo.Manifest(t.Context(), x.Manifests[0].Digest.String())
	var m ocispec.Manifest
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// editManifest modifies the manifest for haiku.
func (w *world) editManifest(t *testing.T, edit func(*ocispec.Manifest)) {
	t.Helper()
	m := w.manifest(t)
	edit(&m)
	b := marshal(t, ocispec.MediaTypeImageManifest, m)
	if err := w.repo.PushManifest(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w.editIndex(t, func(x *ocispec.Index) {
		x.Manifests[0].Digest, x.Manifests[0].Size = b.Descriptor.Digest, b.Descriptor.Size
	})
}

// layer returns the layer with the given media type in the manifest for haiku.
func layer(m *ocispec.Manifest, mediaType string) *ocispec.Descriptor {
	i := slices.IndexFunc(m.Layers, func(d ocispec.Descriptor) bool { return d.MediaType == mediaType })
	return &m.Layers[i]
}

// replace changes the content of the layer that has the given media type in the
// manifest for haiku.
func (w *world) replace(t *testing.T, mediaType string, content []byte) {
	t.Helper()
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
	w.push(t, d, content)
	w.editManifest(t, func(m *ocispec.Manifest) {
		l := layer(m, mediaType)
		l.Digest, l.Size = d.Digest, d.Size
	})
}

func (w *world) push(t *testing.T, d ocispec.Descriptor, content []byte) {
	t.Helper()
	if err := w.repo.PushBlob(t.Context(), d, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
}

// add adds a document to the manifest for haiku.
func (w *world) add(t *testing.T, name, mediaType string, content []byte) {
	t.Helper()
	d := ocispec.Descriptor{
		MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content)),
		Annotations: map[string]string{ocispec.AnnotationTitle: name},
	}
	w.push(t, d, content)
	w.editManifest(t, func(m *ocispec.Manifest) { m.Layers = append(m.Layers, d) })
}

// lose deletes a blob or manifest, like a cleanup job.
func (w *world) lose(t *testing.T, d digest.Digest) {
	t.Helper()
	if w.registry != nil {
		w.registry.Delete(t, w.repo.Capabilities().Name, d.String())
		return
	}
	if err := os.Remove(w.path(t, d)); err != nil {
		t.Fatal(err)
	}
}

// storedZip returns a zip that cannot be hashed as a stream. Its executable has the given
// mode.
func storedZip(t *testing.T, text string, mode fs.FileMode) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	header := &zip.FileHeader{Name: "terraform-provider-thing", Method: zip.Store}
	header.SetMode(mode)
	f, err := z.CreateHeader(header)
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// unsafeZip returns a zip with a file outside its directory.
func unsafeZip(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	if _, err := z.Create("../evil"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// corrupt overwrites a blob with zeros.
func (w *world) corrupt(t *testing.T, d ocispec.Descriptor) {
	t.Helper()
	content := make([]byte, d.Size)
	if w.registry != nil {
		w.registry.AddBlob(w.repo.Capabilities().Name, d.Digest.String(), content)
		return
	}
	if err := os.WriteFile(w.path(t, d.Digest), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *world) path(t *testing.T, d digest.Digest) string {
	t.Helper()
	path, err := w.repo.Capabilities().BlobPath(d)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func marshal(t *testing.T, mediaType string, document any) artifact.Blob {
	t.Helper()
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return artifact.Blob{Descriptor: ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}, Bytes: data}
}
