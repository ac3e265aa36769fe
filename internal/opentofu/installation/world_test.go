package installation_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/networkmirror"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	originHost = "registry.example.org"
	thing      = originHost + "/acme/thing"
)

// has lists a method's packages. Each line has the form "1.0.0 haiku_riscv64
// plan9_mips".
type has []string

// world contains an origin registry, OCI repositories, and directories for methods.
type world struct {
	origin *origintest.Origin
	direct *origin.Source
	client *http.Client
	ca     *testca.CA
	root   string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{origin: origintest.New(origintest.Options{}), ca: ca, client: registrytest.Client(t, ca), root: t.TempDir()}
	url := "https://" + registrytest.Serve(t, ca, w.origin) + "/v1/providers/"
	w.direct = origin.New(origin.Options{HTTP: w.client, Services: map[svchost.Hostname]string{originHost: url}})
	return w
}

// options returns the options for a block. If the block is nil, it returns the options
// for the implicit methods.
func (w *world) options(block *cliconfig.Installation, dirs ...string) installation.Options {
	return installation.Options{
		Config: cliconfig.Config{Installation: block}, PluginDirs: dirs, Direct: w.direct,
		OCI: func(t template.Template) provider.Source {
			return oci.New(func(a provider.Address) (repository.Reader, error) { return w.repository(t, a) })
		},
		Network: func(text string) (provider.Source, error) {
			base, err := url.Parse(text)
			return networkmirror.New(base, networkmirror.Options{HTTP: w.client}), err
		},
	}
}

func (w *world) repository(t template.Template, a provider.Address) (repository.Repository, error) {
	ref, err := t.Repository(a)
	if err != nil {
		return nil, err
	}
	return repository.Open(ref, repository.Options{HTTP: w.client})
}

// block returns a provider_installation block with the given methods.
func block(methods ...cliconfig.Method) *cliconfig.Installation {
	for n := range methods {
		methods[n].Position = stricthcl.Position{File: "rc", Line: n + 2, Column: 3}
	}
	return &cliconfig.Installation{Position: stricthcl.Position{File: "rc", Line: 1, Column: 1}, Methods: methods}
}

// offer adds releases to the origin registry and returns a direct method.
func (w *world) offer(t *testing.T, content has) cliconfig.Method {
	t.Helper()
	each(t, content, func(v provider.Version, platforms []provider.Platform) {
		r := origintest.Release{Namespace: "acme", Type: "thing", Version: v.String(), Archives: map[provider.Platform]origintest.Archive{}}
		for _, p := range platforms {
			r.Archives[p] = origintest.Archive{Bytes: zipOf(t, "direct")}
		}
		if err := w.origin.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	})
	return cliconfig.Method{Kind: cliconfig.Direct}
}

// push pushes releases to image layouts and returns an oci_mirror.
func (w *world) push(t *testing.T, name string, content has) cliconfig.Method {
	t.Helper()
	m := cliconfig.Method{Kind: cliconfig.OCIMirror, Template: parseTemplate(t, "oci-layout:"+filepath.ToSlash(w.root)+"/"+name+"/{namespace}/{type}")}
	a := address(t, thing)
	repo, err := w.repository(m.Template, a)
	if err != nil {
		t.Fatal(err)
	}
	each(t, content, func(v provider.Version, platforms []provider.Platform) {
		dir := t.TempDir()
		for _, p := range platforms {
			file := filepath.Join(dir, provider.Filename(a, v, p))
			write(t, file, zipOf(t, name))
			write(t, file+".gpg", []byte("a signature"))
		}
		built, err := builddir.New(a, dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := publish.Release(t.Context(), built, repo, a, v, publish.Options{}); err != nil {
			t.Fatal(err)
		}
	})
	return m
}

// edited modifies the index of version 1.0.0 in a mirror.
func (w *world) edited(t *testing.T, m cliconfig.Method, edit func(x *ocispec.Index)) cliconfig.Method {
	t.Helper()
	repo, err := w.repository(m.Template, address(t, thing))
	if err != nil {
		t.Fatal(err)
	}
	d, data, err := repo.Manifest(t.Context(), "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	var x ocispec.Index
	if err := json.Unmarshal(data, &x); err != nil {
		t.Fatal(err)
	}
	edit(&x)
	if data, err = json.Marshal(x); err != nil {
		t.Fatal(err)
	}
	b := artifact.Blob{Descriptor: ocispec.Descriptor{MediaType: x.MediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}, Bytes: data}
	if err := repo.PushTag(t.Context(), b, "1.0.0", d.Digest); err != nil {
		t.Fatal(err)
	}
	return m
}

// packed creates a filesystem_mirror of zips.
func (w *world) packed(t *testing.T, name string, content has) cliconfig.Method {
	t.Helper()
	dir := filepath.Join(w.root, name)
	a := address(t, thing)
	each(t, content, func(v provider.Version, platforms []provider.Platform) {
		for _, p := range platforms {
			write(t, filepath.Join(dir, filepath.FromSlash(thing), provider.Filename(a, v, p)), zipOf(t, name))
		}
	})
	return cliconfig.Method{Kind: cliconfig.FilesystemMirror, Path: dir}
}

// unpacked creates a filesystem_mirror of unpacked packages.
func (w *world) unpacked(t *testing.T, name string, content has) cliconfig.Method {
	t.Helper()
	dir := filepath.Join(w.root, name)
	each(t, content, func(v provider.Version, platforms []provider.Platform) {
		for _, p := range platforms {
			write(t, filepath.Join(dir, filepath.FromSlash(thing), v.String(), p.String(), "terraform-provider-thing"), []byte(name))
		}
	})
	return cliconfig.Method{Kind: cliconfig.FilesystemMirror, Path: dir}
}

// serve starts a network mirror and returns a network_mirror.
func (w *world) serve(t *testing.T, name string, content has) cliconfig.Method {
	t.Helper()
	dir := filepath.Join(w.root, name)
	a, versions := address(t, thing), map[string]any{}
	each(t, content, func(v provider.Version, platforms []provider.Platform) {
		archives := map[string]any{}
		for _, p := range platforms {
			zip, file := zipOf(t, name), provider.Filename(a, v, p)
			write(t, filepath.Join(dir, filepath.FromSlash(thing), file), zip)
			archives[p.String()] = map[string]any{"url": file, "hashes": []string{sums.ZH(digest.FromBytes(zip))}}
			// The hashes of different versions must differ.
			name += " "
		}
		versions[v.String()] = map[string]any{}
		writeJSON(t, filepath.Join(dir, filepath.FromSlash(thing), v.String()+".json"), map[string]any{"archives": archives})
	})
	if content != nil {
		writeJSON(t, filepath.Join(dir, filepath.FromSlash(thing), "index.json"), map[string]any{"versions": versions})
	}
	host := registrytest.Serve(t, w.ca, http.FileServer(http.Dir(dir)))
	return cliconfig.Method{Kind: cliconfig.NetworkMirror, URL: "https://" + host + "/"}
}

func writeJSON(t *testing.T, path string, document any) {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, text)
}

// locked returns an oci_mirror in a registry that requires credentials.
func (w *world) locked(t *testing.T) cliconfig.Method {
	t.Helper()
	host := registrytest.Serve(t, w.ca, registrytest.New(registrytest.Options{Username: "u", Password: "p"}))
	return cliconfig.Method{Kind: cliconfig.OCIMirror, Template: parseTemplate(t, host+"/{namespace}/{type}")}
}

// refusing returns an oci_mirror in a registry that responds to tag list requests with a
// status and error codes.
func (w *world) refusing(t *testing.T, status int, codes ...string) cliconfig.Method {
	t.Helper()
	registry := registrytest.New(registrytest.Options{})
	registry.Misbehave(registrytest.Tags, func(rw http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		var list []string
		for _, code := range codes {
			list = append(list, fmt.Sprintf(`{"code":%q,"message":"project mirror not found"}`, code))
		}
		rw.WriteHeader(status)
		_, _ = fmt.Fprintf(rw, `{"errors":[%s]}`, strings.Join(list, ","))
	}, -1)
	host := registrytest.Serve(t, w.ca, registry)
	return cliconfig.Method{Kind: cliconfig.OCIMirror, Template: parseTemplate(t, host+"/{namespace}/{type}")}
}

// absent returns an oci_mirror in a registry without repositories.
func (w *world) absent(t *testing.T) cliconfig.Method {
	t.Helper()
	host := registrytest.Serve(t, w.ca, registrytest.New(registrytest.Options{}))
	return cliconfig.Method{Kind: cliconfig.OCIMirror, Template: parseTemplate(t, host+"/{namespace}/{type}")}
}

// from returns the method that provided a package. The executable contains the method's
// name.
func from(t *testing.T, i *installation.Installation, p provider.Package) string {
	t.Helper()
	if dir, ok := i.Capabilities().Directory(p); ok {
		program, err := os.ReadFile(filepath.Join(dir, "terraform-provider-thing"))
		if err != nil {
			t.Fatal(err)
		}
		return string(program)
	}
	body, _, err := i.Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	program, err := z.Open("terraform-provider-thing")
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	name, err := io.ReadAll(program)
	if err != nil {
		t.Fatal(err)
	}
	return string(name)
}

func each(t *testing.T, content has, do func(provider.Version, []provider.Platform)) {
	t.Helper()
	for _, line := range content {
		words := strings.Fields(line)
		v, err := provider.ParseVersion(words[0])
		if err != nil {
			t.Fatal(err)
		}
		do(v, platforms(t, words[1:]...))
	}
}

func platforms(t *testing.T, texts ...string) []provider.Platform {
	t.Helper()
	var ps []provider.Platform
	for _, text := range texts {
		p, err := provider.ParsePlatform(text)
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	return ps
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func zipOf(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("terraform-provider-thing")
	if err == nil {
		_, err = fmt.Fprint(w, text)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func address(t *testing.T, text string) provider.Address {
	t.Helper()
	a, err := provider.ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func version(t *testing.T, text string) provider.Version {
	t.Helper()
	v, err := provider.ParseVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func pattern(t *testing.T, text string) provider.Pattern {
	t.Helper()
	p, err := provider.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func parseTemplate(t *testing.T, text string) template.Template {
	t.Helper()
	parsed, err := template.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
