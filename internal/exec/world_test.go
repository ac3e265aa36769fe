package exec_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/exec"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// haiku is never the platform of the machine that runs the tests.
var haiku = provider.Platform{OS: "haiku", Arch: "riscv64"}

// world is an origin registry without h1: hashes for one provider, a store, and a working
// directory.
type world struct {
	offered *origintest.Origin
	source  provider.Source
	cache   string
	dir     string
	damaged atomic.Int32
	hashes  map[string]hashes
	// note is added to the content of the zips.
	note string
}

// hashes contains the hashes of a zip. The zip has a directory entry, so it has two h1:
// hashes.
type hashes struct{ zh, h1, unpacked string }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{offered: origintest.New(origintest.Options{}), cache: filepath.Join(t.TempDir(), "cache"), dir: t.TempDir(), hashes: map[string]hashes{}}
	for _, name := range []string{"one 1.0.0", "one 2.0.0", "two 1.0.0"} {
		w.offer(t, name)
	}
	server := httptest.NewUnstartedServer(w.offered)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	at := server.URL + "/v1/providers/"
	w.source = origin.New(origin.Options{
		HTTP: server.Client(), Services: map[svchost.Hostname]string{provider.DefaultHost: at, "registry.terraform.io": at},
	})
	return w
}

func (w *world) offer(t *testing.T, name string) {
	t.Helper()
	typ, version, _ := strings.Cut(name, " ")
	namespace := "acme"
	if in, of, is := strings.Cut(typ, "/"); is {
		namespace, typ = in, of
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	_, err := z.Create("docs/")
	must(t, err)
	file := &zip.FileHeader{Name: "terraform-provider-" + typ, Method: zip.Deflate}
	file.SetMode(0o755)
	entry, err := z.CreateHeader(file)
	must(t, err)
	_, err = io.WriteString(entry, name+w.note)
	must(t, errors.Join(err, z.Close()))
	must(t, w.offered.Add(t.Context(), origintest.Release{
		Namespace: namespace, Type: typ, Version: version, Protocols: []string{"6.0"},
		Archives: map[provider.Platform]origintest.Archive{haiku: {Bytes: out.Bytes()}},
		Edit: func(_ provider.Platform, document map[string]any) {
			if typ == "one" {
				delete(document, "packages")
			}
		},
	}))
	unpacked := t.TempDir()
	must(t, os.WriteFile(filepath.Join(unpacked, file.Name), []byte(name+w.note), 0o755))
	h := hashes{zh: sums.ZH(digest.FromBytes(out.Bytes()))}
	h.h1, err = origintest.H1(bytes.NewReader(out.Bytes()), int64(out.Len()))
	must(t, err)
	h.unpacked, err = sums.H1Dir(unpacked)
	must(t, err)
	if h.h1 == h.unpacked {
		t.Fatal("the zip lists no directory")
	}
	w.hashes[name] = h
}

// other contains the hashes of another platform's package.
var other = hashes{zh: "zh:" + strings.Repeat("0", 64), h1: "h1:" + strings.Repeat("A", 43) + "="}

// lock writes a lock file. Keys have the form "TYPE VERSION", and values are hashes.
func (w *world) lock(t *testing.T, name string, locked map[string][]string) (path string) {
	t.Helper()
	var b strings.Builder
	for release, hashes := range locked {
		typ, version, _ := strings.Cut(release, " ")
		fmt.Fprintf(&b, "provider \"registry.opentofu.org/acme/%s\" {\n  version = %q\n", typ, version)
		if len(hashes) > 0 {
			fmt.Fprintf(&b, "  hashes = [\n    \"%s\",\n  ]\n", strings.Join(hashes, "\",\n    \""))
		}
		b.WriteString("}\n")
	}
	path = filepath.Join(w.dir, filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(b.String()), 0o644))
	return path
}

// require writes a configuration that requires providers.
func (w *world) require(t *testing.T, types ...string) {
	t.Helper()
	var b strings.Builder
	for _, typ := range types {
		fmt.Fprintf(&b, "    %s = {\n      source = \"registry.opentofu.org/acme/%[1]s\"\n    }\n", typ)
	}
	must(t, os.WriteFile(filepath.Join(w.dir, "main.tf"), []byte("terraform {\n  required_providers {\n"+b.String()+"  }\n}\n"), 0o600))
}

func (w *world) open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(w.cache, store.Options{
		OnDamaged: func(string, error) { w.damaged.Add(1) }, OnFailed: func(err error) { t.Error(err) },
	})
	must(t, err)
	return s
}

// ran is the result of a command.
type ran struct {
	code   int
	stdout string
	err    error
	// zips counts fetched zips. requests counts all requests to the origin.
	zips, requests int
}

// run runs this test binary as a child under a different name.
func (w *world) run(t *testing.T, name, do string, change ...func(*exec.Options)) ran {
	t.Helper()
	var out bytes.Buffer
	o := w.options(t, name, do)
	o.Stdout = &out
	for _, f := range change {
		f(&o)
	}
	before := w.offered.Requests()
	var r ran
	r.code, r.err = exec.Run(t.Context(), o)
	r.stdout = out.String()
	for kind, n := range w.offered.Requests() {
		r.requests += n - before[kind]
	}
	r.zips = w.offered.Requests()[origintest.Zip] - before[origintest.Zip]
	return r
}

func (w *world) options(t *testing.T, name, do string) exec.Options {
	t.Helper()
	program := filepath.Join(programs, name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := os.Link(child(programs), program); !errors.Is(err, fs.ErrExist) {
		must(t, err)
	}
	home := filepath.Join(w.dir, "home")
	o := exec.Options{
		Command: []string{program}, Dir: w.dir, Source: w.source, Store: w.open(t), Platform: haiku,
		Environment: cliconfig.Environment{OS: "linux", Home: home, Getenv: func(name string) string {
			return map[string]string{"XDG_DATA_DIRS": home}[name]
		}},
		Environ: append(os.Environ(), envChild+"="+do, "GORACE=atexit_sleep_ms=0", "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE=1", "TERRAFORM_CONFIG=/user's"),
		Stderr:  os.Stderr,
	}
	exec.SetTimeouts(&o, patience.Limit)
	return o
}

// envChild is the environment variable with the task of the child.
const envChild = "TEST_EXEC_CHILD"

func TestMain(m *testing.M) {
	do, is := os.LookupEnv(envChild)
	if is {
		os.Exit(asChild(do))
	}
	dir, err := os.MkdirTemp("", "exec-test-*")
	if err == nil {
		err = copySelf(child(dir))
	}
	if err != nil {
		log.Fatal(err)
	}
	programs = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// programs is a directory that contains copies of the test binary under all used names.
// Windows can't remove the file of a running program.
var programs string

func child(dir string) string { return filepath.Join(dir, "child") }

func copySelf(path string) error {
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		return err
	}
	return os.WriteFile(path, self, 0o700)
}

// envVersion is the version that the child prints.
const envVersion = "TEST_EXEC_VERSION"

// asChild runs the task of the child.
func asChild(do string) (code int) {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		fmt.Println(os.Getenv(envVersion))
		return 0
	}
	switch do {
	case "fail":
		return 3
	case "show": // prints the configuration that it finds
		text, err := os.ReadFile(os.Getenv("TF_CLI_CONFIG_FILE"))
		fmt.Println(string(text), err)
		for _, name := range []string{"TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE", "TERRAFORM_CONFIG"} {
			if value, set := os.LookupEnv(name); set {
				fmt.Println("there is", name, value)
			}
		}
	case "download", "download nothing": // fails like init after it has installed a module
		module := filepath.Join(".terraform", "modules", "m")
		required := map[string]string{"download": "terraform {\n required_providers {\n two = { source = \"registry.opentofu.org/acme/two\" }\n}\n}\n"}[do]
		err := errors.Join(os.MkdirAll(module, 0o755), os.WriteFile(filepath.Join(module, "main.tf"), []byte(required), 0o600),
			os.WriteFile(filepath.Join(module, "..", "modules.json"), []byte(`{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"registry.opentofu.org/acme/m/aws","Version":"1.0.0","Dir":".terraform/modules/m"}]}`), 0o600))
		if err != nil {
			log.Fatal(err)
		}
		return 1
	case "wait":
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
	default:
		return signalled(do)
	}
	return 0
}

// configured parses the output of the "show" task.
func (r ran) configured(t *testing.T) (c cliconfig.Config, mirror string) {
	t.Helper()
	if r.err != nil || r.code != 0 {
		t.Fatalf("exit code %d, error %v", r.code, r.err)
	}
	text, found := strings.CutSuffix(r.stdout, " <nil>\n")
	if !found {
		t.Fatalf("the child printed %s", r.stdout)
	}
	c, err := cliconfig.Parse("the child's", []byte(text))
	must(t, err)
	for _, m := range c.Installation.Methods {
		if m.Kind == cliconfig.FilesystemMirror && mirror == "" {
			mirror = m.Path
		}
	}
	return c, mirror
}

// holds returns the zips in a mirror, with the value "zip".
func holds(t *testing.T, mirror string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(mirror, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(mirror, path)
		must(t, err)
		archive, err := zip.OpenReader(path)
		must(t, err)
		found[strings.TrimPrefix(filepath.ToSlash(name), "registry.opentofu.org/acme/")] = "zip"
		return archive.Close()
	}))
	return found
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// acceptAll accepts every release.
func acceptAll(context.Context, provider.Release) (provider.Verdict, error) {
	return provider.Verdict{}, nil
}

// counting counts the releases that are requested from a source.
type counting struct {
	provider.Source
	times *int
}

func (s counting) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	*s.times++
	return s.Source.Release(ctx, a, v, only...)
}

// gone is a source that can't be reached.
type gone struct{ provider.Source }

var errGone = errors.New("the source is gone")

func (gone) Versions(context.Context, provider.Address) ([]provider.Version, error) {
	return nil, errGone
}

func (gone) Release(context.Context, provider.Address, provider.Version, ...provider.Platform) (provider.Release, error) {
	return provider.Release{}, errGone
}

// signed is a source whose releases have a signature.
type signed struct{ provider.Source }

func (s signed) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	r, err := s.Source.Release(ctx, a, v, only...)
	signature := provider.Document{Kind: provider.KindSignature, Scope: provider.ScopeRelease, Name: "SHA256SUMS.sig"}
	r.Documents = append(r.Documents, signature.WithBytes([]byte("signature")))
	return r, err
}
