package module_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/testing/gittest"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

var ca *testca.CA

// TestMain makes git trust the test CA.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "module-test")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if ca, err = testca.New(); err != nil {
			panic(err)
		}
		if err := gittest.Environment(dir, ca.PEM()); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// world is a module registry, a server of git repositories and archives, and a target.
type world struct {
	host     string
	origin   *origintest.Origin
	repo     gittest.Repository // served as HOST/git/vpc.git
	archives map[string][]byte  // by path
	requests []string           // for archives and git repositories
	headers  map[string]string  // Authorization headers by path
	modules  *origin.Modules
	target   repository.Repository
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("starts git")
	}
	w := &world{origin: origintest.New(origintest.Options{}), archives: map[string][]byte{}, headers: map[string]string{}}
	dir := t.TempDir()
	var err error
	if w.repo, err = gittest.New(t.Context(), filepath.Join(dir, "vpc.git")); err != nil {
		t.Fatal(err)
	}
	repositories, err := gittest.Handler(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", w.origin)
	mux.HandleFunc("/git/", func(rw http.ResponseWriter, r *http.Request) {
		w.requests = append(w.requests, "git")
		http.StripPrefix("/git", repositories).ServeHTTP(rw, r)
	})
	mux.HandleFunc("/archives/", func(rw http.ResponseWriter, r *http.Request) {
		w.requests = append(w.requests, r.URL.Path)
		w.headers[r.URL.Path] = r.Header.Get("Authorization")
		_, _ = rw.Write(w.archives[r.URL.Path])
	})
	server := httptest.NewUnstartedServer(mux)
	if server.TLS, err = ca.ServerConfig("127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	w.host = strings.TrimPrefix(server.URL, "https://")
	w.modules = origin.NewModules(origin.Options{HTTP: registrytest.Client(t, ca)})
	w.target = repository.NewLayout(filepath.Join(t.TempDir(), "target"))
	return w
}

// add adds a version of acme/vpc/aws. HOST in the location represents the server.
func (w *world) add(version, location string) {
	w.origin.AddModule(origintest.Module{Name: "acme/vpc/aws", Version: version, Location: strings.ReplaceAll(location, "HOST", w.host)})
}

// commit commits files with the given contents under a tag.
func (w *world) commit(t *testing.T, tag string, files map[string]string) (id string) {
	t.Helper()
	var entries []gittest.Entry
	for path, content := range files {
		entries = append(entries, gittest.Entry{Path: path, Content: content})
	}
	id, err := w.repo.Commit(t.Context(), entries, tag)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// mirror mirrors acme/vpc/aws with a constraint such as "@1.0.0", and returns the
// results.
func (w *world) mirror(t *testing.T, constraint string, o module.MirrorOptions) (results []mirror.Result) {
	t.Helper()
	r, err := module.ParseRequirement(w.host + "/acme/vpc/aws" + constraint)
	if err != nil {
		t.Fatal(err)
	}
	target := o.Target
	o.Target = func(a provider.Address) (repository.Repository, publish.Options, error) {
		if module.FromRegistry(a) != r.Address {
			t.Errorf("got address %s, want %s", module.FromRegistry(a), r.Address)
		}
		if target != nil {
			return target(a)
		}
		return w.target, publish.Options{}, nil
	}
	o.OnResult = func(r mirror.Result) { results = append(results, r) }
	if err := module.Mirror(t.Context(), w.modules, []module.Requirement{r}, o); err != nil {
		t.Fatal(err)
	}
	return results
}

// statuses returns each version with its status.
func statuses(results []mirror.Result) (all []string) {
	for _, r := range results {
		status := string(r.Published.Status)
		switch {
		case r.Err != nil:
			status = "failed: " + r.Err.Error()
		case r.Item.Held != nil:
			status = "held"
		}
		all = append(all, r.Item.Version.String()+" "+status)
	}
	return all
}

// want checks the status of the only result.
func want(t *testing.T, results []mirror.Result, status string) {
	t.Helper()
	if got := statuses(results); len(got) != 1 || got[0] != status {
		t.Errorf("got %q, want %q", got, status)
	}
}

// stored returns the annotations of a version and the contents of its files.
func (w *world) stored(t *testing.T, tag string) (annotations, files map[string]string) {
	t.Helper()
	_, data, err := w.target.Manifest(t.Context(), tag)
	if err != nil {
		t.Fatal(err)
	}
	m, err := artifact.ParseModule(data)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := w.target.Blob(t.Context(), m.Zip)
	if err != nil {
		t.Fatal(err)
	}
	defer blob.Close()
	packed, err := io.ReadAll(blob)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, f := range r.File {
		text, err := r.Open(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(text)
		if err != nil {
			t.Fatal(err)
		}
		name := f.Name
		if f.Mode()&0o111 != 0 {
			name += "*"
		}
		files[name] = string(content)
	}
	return m.Annotations, files
}

var files = map[string]string{"main.tf": "# vpc\n", "modules/subnet/main.tf": "# subnet\n"}

func TestMirrorGit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	commit := w.commit(t, "v1.0.0", files)
	const location = "git::https://HOST/git/vpc.git//modules/subnet?ref=v1.0.0"
	w.add("1.0.0", location)
	want(t, w.mirror(t, "", module.MirrorOptions{}), "1.0.0 created")
	annotations, stored := w.stored(t, "1.0.0")
	if diff := cmp.Diff(files, stored); diff != "" {
		t.Error(diff)
	}
	wantAnnotations := map[string]string{
		"org.opencontainers.image.version": "1.0.0", "org.opencontainers.image.revision": commit, "org.opencontainers.image.title": "vpc",
		artifact.AnnotationModule: w.host + "/acme/vpc/aws", artifact.AnnotationModuleSubdirectory: "modules/subnet",
		artifact.AnnotationModuleOrigin: strings.ReplaceAll(location, "HOST", w.host),
	}
	if diff := cmp.Diff(wantAnnotations, annotations); diff != "" {
		t.Error(diff)
	}
	// The commit is not fetched again.
	w.requests = nil
	want(t, w.mirror(t, "", module.MirrorOptions{}), "1.0.0 unchanged")
	if len(w.requests) > 2 {
		t.Errorf("%d git requests, want only a list of refs", len(w.requests))
	}
	// The same files in a different commit are also a conflict.
	for _, moved := range []map[string]string{{"main.tf": "# evil\n"}, files} {
		id := w.commit(t, "v1.0.0", moved)
		if id == commit {
			if err := w.repo.Point(t.Context(), mustCommit(t, w, files), "v1.0.0"); err != nil {
				t.Fatal(err)
			}
		}
		results := w.mirror(t, "", module.MirrorOptions{})
		if conflict, ok := errors.AsType[*repository.ConflictError](results[0].Err); !ok || !strings.Contains(conflict.Error(), commit) {
			t.Errorf("got %v", results[0].Err)
		}
	}
	forced := module.MirrorOptions{}
	forced.Target = func(provider.Address) (repository.Repository, publish.Options, error) {
		return w.target, publish.Options{Force: true}, nil
	}
	w.commit(t, "v1.0.0", map[string]string{"main.tf": "# new\n", "modules/subnet/a.tf": ""})
	want(t, w.mirror(t, "", forced), "1.0.0 replaced")
}

// mustCommit commits the same files as a child of a commit without files.
func mustCommit(t *testing.T, w *world, files map[string]string) string {
	t.Helper()
	tree, err := w.repo.Git(t.Context(), "", "rev-parse", "refs/tags/v1.0.0^{tree}")
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.repo.Git(t.Context(), "", "commit-tree", "-m", "other", tree)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestMirrorArchives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.archives["/archives/vpc.zip"] = zipOf(t, files)
	w.archives["/archives/vpc.tar.gz"] = tarOf(t, "", files)
	w.archives["/archives/tarball"] = tarOf(t, "acme-vpc-abc123/", files)
	w.archives["/archives/links.tar.gz"] = tarOf(t, "vpc-1/", map[string]string{
		"main.tf": "# vpc\n", "modules/a/b.tf": "# b\n", "copy.tf": "-> ./main.tf", "examples/a": "-> ../modules/a", "hard.tf": "=> vpc-1/modules/a/b.tf",
	})
	w.archives["/archives/two.tar.gz"] = tarOf(t, "", map[string]string{"a-1/main.tf": "", "b/main.tf": ""})
	for name, test := range map[string]struct {
		location, origin, directory string
		files                       map[string]string
	}{
		"1.0.0": {"https://HOST/archives/vpc.zip", "https://HOST/archives/vpc.zip", "", files},
		"1.1.0": {"https://HOST/archives/vpc.tar.gz//modules/subnet?token=secret", "https://HOST/archives/vpc.tar.gz//modules/subnet", "modules/subnet", files},
		"1.2.0": {"https://HOST/archives/tarball//*?archive=tar.gz", "https://HOST/archives/tarball//*", "", files},
		"1.5.0": {"https://HOST/archives/two.tar.gz//a-*", "https://HOST/archives/two.tar.gz//a-*", "a-1", map[string]string{"a-1/main.tf": "", "b/main.tf": ""}},
		"1.6.0": {"https://HOST/archives/links.tar.gz//*?archive=tar.gz", "https://HOST/archives/links.tar.gz//*", "", map[string]string{
			"main.tf": "# vpc\n", "copy.tf": "# vpc\n", "modules/a/b.tf": "# b\n", "examples/a/b.tf": "# b\n", "hard.tf": "# b\n",
		}},
		"1.3.0": {"/archives/vpc.zip", "https://HOST/archives/vpc.zip", "", files},
		"1.4.0": {"../../../../../../archives/vpc.zip", "https://HOST/archives/vpc.zip", "", files},
	} {
		w.add(name, test.location)
		for _, status := range []string{" created", " unchanged"} {
			want(t, w.mirror(t, "@"+name, module.MirrorOptions{}), name+status)
		}
		annotations, stored := w.stored(t, name)
		if diff := cmp.Diff(test.files, stored); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got := annotations[artifact.AnnotationModuleOrigin]; got != strings.ReplaceAll(test.origin, "HOST", w.host) {
			t.Errorf("%s: origin %s", name, got)
		}
		if got := annotations[artifact.AnnotationModuleSubdirectory]; got != test.directory {
			t.Errorf("%s: directory %s", name, got)
		}
	}
	w.archives["/archives/vpc.zip"] = zipOf(t, map[string]string{"main.tf": "# evil\n"})
	if _, ok := errors.AsType[*repository.ConflictError](w.mirror(t, "@1.0.0", module.MirrorOptions{})[0].Err); !ok {
		t.Error("a moved archive is not a conflict")
	}
}

// TestMirrorProgress checks that the download and the upload of an archive are reported
// as transfers of the module.
func TestMirrorProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.archives["/archives/vpc.zip"] = zipOf(t, files)
	w.add("1.0.0", "https://HOST/archives/vpc.zip")
	var began []string
	ended, moved := 0, 0
	p := &publish.Publisher{Progress: provider.Progress{
		Begin:   func(p provider.Package, _ int64) { began = append(began, p.Address.String()+" "+p.Filename) },
		Advance: func(_ provider.Package, n int) { moved += n },
		End: func(_ provider.Package, err error) {
			if ended++; err != nil {
				t.Error(err)
			}
		},
	}}
	want(t, w.mirror(t, "@1.0.0", module.MirrorOptions{Options: mirror.Options{Publisher: p}}), "1.0.0 created")
	name := w.host + "/acme/vpc/aws vpc_1.0.0.zip"
	if diff := cmp.Diff([]string{name, name}, began); diff != "" || ended != 2 || moved <= len(w.archives["/archives/vpc.zip"]) {
		t.Errorf("%d transfers ended with %d bytes: %s", ended, moved, diff)
	}
}

// TestMirrorJSONLocation checks that the token is sent only to archives for which the
// registry requests it.
func TestMirrorJSONLocation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.modules = origin.NewModules(origin.Options{HTTP: registrytest.Client(t, ca), Token: tokenFor(w.host)})
	for version, response := range map[string]map[string]any{
		"1.0.0": {"location": "https://" + w.host + "/archives/1.0.0"},
		"1.1.0": {"location": "/archives/1.1.0", "use_registry_credentials": false},
		"1.2.0": {"location": "/archives/1.2.0", "use_registry_credentials": true},
	} {
		w.archives["/archives/"+version] = zipOf(t, files)
		w.origin.AddModule(origintest.Module{Name: "acme/vpc/aws", Version: version, JSON: response})
		want(t, w.mirror(t, "@"+version, module.MirrorOptions{}), version+" created")
	}
	wantHeaders := map[string]string{"/archives/1.0.0": "", "/archives/1.1.0": "", "/archives/1.2.0": "Bearer secret"}
	if diff := cmp.Diff(wantHeaders, w.headers); diff != "" {
		t.Error(diff)
	}
}

func TestMirrorArtifact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := repository.NewLayout(filepath.Join(t.TempDir(), "source"))
	pushed := push(t, source, vpc(t, "one"), module.PushOptions{Latest: true})
	w.add("1.0.0", "oci://registry.example.org/acme/vpc//modules?tag=1.2.0")
	w.add("1.1.0", "oci://registry.example.org/acme/vpc?digest="+pushed.Digest.String())
	w.add("1.2.0", "oci://registry.example.org/acme/vpc")
	o := module.MirrorOptions{Open: func(ref template.Reference) (repository.Reader, error) {
		if ref.String() != "registry.example.org/acme/vpc" {
			t.Errorf("got %s", ref)
		}
		return source, nil
	}}
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		want(t, w.mirror(t, "@"+version, o), version+" created")
		if _, files := w.stored(t, version); files["main.tf"] != "one" || len(files) != 3 {
			t.Errorf("%s: got %q", version, files)
		}
	}
}

func TestMirrorSelects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.archives["/archives/vpc.zip"] = zipOf(t, files)
	for _, v := range []string{"1.0.0", "1.1.0", "2.0.0", "3.0.0-rc1", "2.1.0"} {
		m := origintest.Module{Name: "acme/vpc/aws", Version: v, Location: "/archives/vpc.zip", Discovered: "2026-01-01T00:00:00Z"}
		if v == "2.1.0" {
			m.Discovered = "2026-03-01T00:00:00Z"
		}
		w.origin.AddModule(m)
	}
	var o module.MirrorOptions
	o.Latest, o.MinAge = 1, 7*24*time.Hour
	o.Now = func() time.Time { return time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC) }
	o.Target = func(provider.Address) (repository.Repository, publish.Options, error) {
		return w.target, publish.Options{DryRun: true}, nil
	}
	if diff := cmp.Diff([]string{"2.1.0 held", "2.0.0 created"}, statuses(w.mirror(t, "", o))); diff != "" {
		t.Error(diff)
	}
	if tags, err := w.target.Tags(t.Context()); len(tags) > 0 {
		t.Errorf("a dry run wrote %v, %v", tags, err)
	}
	if diff := cmp.Diff([]string{"1.1.0 created", "1.0.0 created"}, statuses(w.mirror(t, "@< 2", module.MirrorOptions{}))); diff != "" {
		t.Error(diff)
	}
}

func TestMirrorRefuses(t *testing.T) { //nolint:tparallel // the cases share a registry
	t.Parallel()
	w := newWorld(t)
	w.commit(t, "v1.0.0", map[string]string{".gitmodules": "[submodule]\n", "main.tf": ""})
	w.archives["/archives/page"] = []byte("<html>")
	w.archives["/archives/link.tar.gz"] = tarOf(t, "", map[string]string{"main.tf": "", "a/link": "-> /etc/passwd"})
	w.archives["/archives/cycle.tar.gz"] = tarOf(t, "", map[string]string{"main.tf": "", "a/b": "-> ../c", "c/d": "-> ../a"})
	w.archives["/archives/up.tar.gz"] = tarOf(t, "../", files)
	w.archives["/archives/sparse.tar.gz"] = sparseTar(t)
	for name, start := range map[string]string{"xz": "\xfd7zXZ\x00", "bzip2": "BZh91AY&SY", "zstd": "\x28\xb5\x2f\xfd\x04\x00", "7z": "7z\xbc\xaf\x27\x1c"} {
		w.archives["/archives/"+name] = []byte(start)
	}
	w.archives["/archives/up.zip"] = zipOf(t, map[string]string{"../evil.tf": ""})
	hostile := map[string]string{"main.tf": "", ".git/config": "[core]\n\tfsmonitor = evil\n"}
	w.archives["/archives/git.zip"], w.archives["/archives/git.tar.gz"] = zipOf(t, hostile), tarOf(t, "", hostile)
	oldest := strings.Repeat("0", 40)
	for location, test := range map[string]struct {
		problem string
		kind    provider.ErrorKind
	}{
		"":                                 {"no location", provider.Unknown},
		"http://HOST/archives/vpc.zip":     {"want git::, https, or oci", provider.Refused},
		"./../../../../../../archives/vpc": {"", provider.Unverified},
		"file:///etc":                      {"want git::, https, or oci", provider.Refused},
		"s3::https://example.org/vpc.zip":  {"want git::", provider.Refused},
		"hg::https://example.org/vpc":      {"want git::", provider.Refused},
		"github.com/acme/vpc":              {"want git::", provider.Refused},
		"git::file:///srv/vpc.git":         {`git transport "file"`, provider.Refused},
		"git::ext::sh -c evil":             {"", provider.Refused},
		"git::https://HOST/git/vpc.git?ref=--upload-pack=evil":      {"invalid git ref", provider.Refused},
		"git::https://HOST/git/vpc.git?ref=v1.0.0&sshkey=c2VjcmV0":  {"sshkey is not supported", provider.Refused},
		"git::https://HOST/git/vpc.git//../../etc?ref=v1.0.0":       {"subdirectory is not valid", provider.Refused},
		"git::https://HOST/git/vpc.git//missing?ref=v1.0.0":         {".gitmodules", provider.Refused},
		"git::https://HOST/git/vpc.git?ref=v1.0.0":                  {".gitmodules", provider.Refused},
		"git::https://user:secret@HOST/git/vpc.git?ref=v1.0.0":      {"contains credentials", provider.Refused},
		"git::https://secret@HOST/git/vpc.git?ref=v1.0.0":           {"contains credentials", provider.Refused},
		"git::https://secret@HOST/git/vpc.git?ref=" + oldest:        {"contains credentials", provider.Refused},
		"git::https://HOST/git/vpc.git?ref=v9":                      {"no such branch, tag, or commit", provider.NotFound},
		"https://HOST/archives/page":                                {"", provider.Unverified},
		"https://HOST/archives/xz":                                  {"xz archives are not supported", provider.Refused},
		"https://HOST/archives/bzip2":                               {"bzip2 archives are not supported", provider.Refused},
		"https://HOST/archives/zstd":                                {"zstd archives are not supported", provider.Refused},
		"https://HOST/archives/7z":                                  {"7z archives are not supported", provider.Refused},
		"https://HOST/archives/link.tar.gz":                         {`"a/link" doesn't refer to a file`, provider.Refused},
		"https://HOST/archives/cycle.tar.gz":                        {"doesn't refer to a file", provider.Refused},
		"https://HOST/archives/up.tar.gz":                           {`".."`, provider.Unverified},
		"https://HOST/archives/sparse.tar.gz":                       {"contains more than", provider.Unverified},
		"https://HOST/archives/up.zip":                              {`".."`, provider.Unverified},
		"https://HOST/archives/git.zip":                             {`".git"`, provider.Unverified},
		"https://HOST/archives/git.tar.gz":                          {`".git"`, provider.Unverified},
		"https://HOST/archives/vpc.zip?checksum=md5:0&token=secret": {"checksum is not supported", provider.Refused},
	} {
		t.Run(location, func(t *testing.T) {
			w.add("1.0.0", location)
			err := w.mirror(t, "@1.0.0", module.MirrorOptions{})[0].Err
			if err == nil || !strings.Contains(err.Error(), test.problem) || provider.KindOf(err) != test.kind || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v (%s), want %s (%s)", err, provider.KindOf(err), test.problem, test.kind)
			}
		})
	}
	if tags, err := w.target.Tags(t.Context()); len(tags) > 0 {
		t.Errorf("got tags %v, %v", tags, err)
	}
	w.add("1.0.0", "git::https://HOST/git/vpc.git?ref=v1.0.0")
	want(t, w.mirror(t, "", module.MirrorOptions{AllowIncomplete: true}), "1.0.0 created")
}

// sparseTar returns an archive of a file whose content of 8 TiB is a hole.
func sparseTar(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Name: "main.tf", Mode: 0o644, Size: 512, Format: tar.FormatPAX, PAXRecords: map[string]string{
		"XXX.sparse.major": "1", "XXX.sparse.minor": "0", "XXX.sparse.name": "main.tf", "XXX.sparse.realsize": fmt.Sprint(8 << 40),
	}})
	table := make([]byte, 512)
	copy(table, "1\n0\n0\n") // one fragment, at 0, of 0 bytes
	_, writeErr := w.Write(table)
	if err := errors.Join(err, writeErr, w.Close()); err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err = z.Write(bytes.ReplaceAll(b.Bytes(), []byte("XXX.sparse"), []byte("GNU.sparse"))) // Writer refuses these keys
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return zipped.Bytes()
}

func zipOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range sorted(files) {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write([]byte(files[name]))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t *testing.T, prefix string, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for _, name := range sorted(files) {
		h, content := &tar.Header{Name: prefix + name, Mode: 0o644}, files[name]
		if target, isLink := strings.CutPrefix(content, "-> "); isLink {
			h.Typeflag, h.Linkname, content = tar.TypeSymlink, target, ""
		} else if target, isLink := strings.CutPrefix(content, "=> "); isLink {
			h.Typeflag, h.Linkname, content = tar.TypeLink, target, ""
		}
		h.Size = int64(len(content))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(content))
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sorted(files map[string]string) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func tokenFor(host string) func(context.Context, svchost.Hostname) (origin.Token, error) {
	return func(_ context.Context, h svchost.Hostname) (origin.Token, error) {
		if string(h) != host {
			return origin.Token{}, nil
		}
		return origin.Token{Value: "secret"}, nil
	}
}

// TestMirrorDenied checks that a denied version is not fetched, and that Force lifts the
// denial even if the version still has its tag, because the registry didn't delete it.
func TestMirrorDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.commit(t, "v1.0.0", files)
	w.add("1.0.0", "git::https://HOST/git/vpc.git?ref=v1.0.0")
	want(t, w.mirror(t, "", module.MirrorOptions{}), "1.0.0 created")
	before, err := repository.Inspect(t.Context(), w.target, "1.0.0", repository.DepthIndex)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := approval.Deny(t.Context(), w.target, provider.ModuleAddress(w.target.String()), version(t, "1.0.0"), approval.DenyOptions{Reason: "broken"}); err != nil {
		t.Fatal(err)
	}
	w.requests = nil
	want(t, w.mirror(t, "", module.MirrorOptions{}), "1.0.0 denied")
	exact := w.mirror(t, "@1.0.0", module.MirrorOptions{})
	if _, ok := errors.AsType[*repository.DeniedError](exact[0].Err); !ok {
		t.Errorf("got %v", exact[0].Err)
	}
	if len(w.requests) > 4 {
		t.Errorf("%d git requests, want only lists of refs", len(w.requests))
	}
	if err := w.target.PushTag(t.Context(), artifact.Blob{Descriptor: before.Descriptor, Bytes: before.Bytes}, "1.0.0", ""); err != nil {
		t.Fatal(err)
	}
	forced := module.MirrorOptions{}
	forced.Target = func(provider.Address) (repository.Repository, publish.Options, error) {
		return w.target, publish.Options{Force: true}, nil
	}
	want(t, w.mirror(t, "@1.0.0", forced), "1.0.0 unchanged")
	if err := repository.CheckDenied(t.Context(), w.target, version(t, "1.0.0")); err != nil {
		t.Error(err)
	}
}
