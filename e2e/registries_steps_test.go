//go:build unix

package e2e_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// productSteps lists the steps of TestRegistries in their order. Later steps need the
// results of earlier ones.
var productSteps = []struct {
	name string
	take func(*productFlow) error
}{
	{"mirror", (*productFlow).mirror},
	{"extend", (*productFlow).extend},
	{"again", (*productFlow).again},
	{"verify", (*productFlow).verify},
	{"promote", (*productFlow).promote},
	{"publish", (*productFlow).publish},
	{"deny", (*productFlow).deny},
	{"copy", (*productFlow).copy},
	{"bundle", (*productFlow).bundle},
	{"sync", (*productFlow).sync},
	{"module", (*productFlow).module},
	{"init", (*productFlow).init},
	{"doctor", (*productFlow).doctor},
}

// productFlow takes the steps with one product.
type productFlow struct {
	product
	t *testing.T
	// root is the registry's host, or "oci-layout:" and a directory.
	root string
	// config is a CLI configuration with the origin registry and the product's credentials.
	config, credentials string
	// dir contains what the steps write.
	dir string
	// sbom is the name of the published referrer, or empty if the registry refuses it.
	sbom string
	// writes counts the requests that can change the registry.
	writes atomic.Int64
}

// commandError is a failed command.
type commandError struct {
	args []string
	code int
	out  string
}

// text returns the output on one line, because tofu wraps its messages.
func (e *commandError) text() string { return strings.Join(strings.Fields(e.out), " ") }

func (e *commandError) Error() string {
	return fmt.Sprintf("exit code %d of %s\n%s", e.code, strings.Join(e.args, " "), e.out)
}

func newProductFlow(t *testing.T, p product, origin string) *productFlow {
	t.Helper()
	f := &productFlow{product: p, t: t, dir: t.TempDir()}
	f.root = "oci-layout:" + filepath.ToSlash(f.dir)
	if p.start != nil {
		registry := p.start(t, f.created())
		f.root = strings.TrimPrefix(serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method != http.MethodGet && req.Method != http.MethodHead {
				f.writes.Add(1)
			}
			registry.ServeHTTP(w, req)
		})), "https://")
	}
	if p.username != "" {
		f.credentials = fmt.Sprintf("oci_credentials %q {\n  username = %q\n  password = %q\n}\n", f.root, p.username, p.password)
	}
	blocks, err := os.ReadFile(origin)
	if err != nil {
		t.Fatal(err)
	}
	f.config = filepath.Join(f.dir, "tofurc")
	write(t, f.config, string(blocks)+f.credentials)
	return f
}

// created returns the directory in which tofu-oci creates repositories. See [product].creates.
func (f *productFlow) created() string { return filepath.Join(f.dir, "created") }

// at returns the repository template of an area.
func (f *productFlow) at(area string) string {
	path := f.path
	if path == "" {
		path = "{area}/{namespace}/{type}"
	}
	return f.root + "/" + strings.Replace(path, "{area}", area, 1)
}

// run runs tofu-oci, and returns its stdout.
func (f *productFlow) run(args ...string) (string, error) {
	return f.execute(command(f.t, programs.tofuOCI, append(args, "--config", f.config, "--ca-file", world.caFile)...))
}

// send is like run, for commands that can create repositories.
func (f *productFlow) send(args ...string) (string, error) {
	if f.creates {
		args = append(args, "--on-missing-repository", "mkdir -p "+f.created()+"/{repository}")
	}
	return f.run(args...)
}

// execute runs a command in the flow's directory, and returns its stdout.
func (f *productFlow) execute(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = f.dir, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", &commandError{cmd.Args, exitCode(err), stdout.String() + stderr.String()}
	}
	return stdout.String(), nil
}

// expect checks the status of each item in a command's JSON output. want can contain
// several statuses, separated by "or".
func expect(want, text string, err error) error {
	if err != nil {
		return err
	}
	var r report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	for _, item := range r.Items {
		if !slices.Contains(strings.Split(want, " or "), item.Status) {
			return fmt.Errorf("status %s, want %s\n%s", item.Status, want, text)
		}
	}
	if len(r.Items) == 0 {
		return fmt.Errorf("no items\n%s", text)
	}
	return nil
}

// mirror mirrors one of the platforms.
func (f *productFlow) mirror() error {
	text, err := f.send("mirror", "acme/tiny@1.0.0", "--platform", provider.CurrentPlatform().String(), "--to", f.at("main"), "--output", "json")
	return expect("created", text, err)
}

// extend adds the other platform.
func (f *productFlow) extend() error {
	text, err := f.send("mirror", "acme/tiny@1.0.0", "--to", f.at("main"), "--output", "json")
	return expect("extended", text, err)
}

// again mirrors the same platform again, which must change nothing.
func (f *productFlow) again() error {
	before := f.state()
	text, err := f.send("mirror", "acme/tiny@1.0.0", "--platform", provider.CurrentPlatform().String(), "--to", f.at("main"), "--output", "json")
	if err := expect("unchanged", text, err); err != nil {
		return err
	}
	if after := f.state(); after != before {
		return fmt.Errorf("the second run changed the repository: %s, was %s", after, before)
	}
	return nil
}

// state changes whenever something is written: it is the number of requests that can change
// the registry, or the times of the layouts' files.
func (f *productFlow) state() string {
	if f.product.start != nil {
		return fmt.Sprint(f.writes.Load(), " requests")
	}
	var all strings.Builder
	_ = filepath.WalkDir(filepath.Join(f.dir, "main"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			fmt.Fprintln(&all, path, info.Size(), info.ModTime())
		}
		return err
	})
	return all.String()
}

func (f *productFlow) verify() error {
	_, err := f.run("verify", "acme/tiny", "--all", "--check-level", "deep", "--from", f.at("main"))
	return err
}

// promote stages a version, and promotes it with a reason. If that fails, promote follows
// the hint, so that later steps find the version.
func (f *productFlow) promote() error {
	text, err := f.send("mirror", "acme/tiny@1.1.0", "--stage", "--to", f.at("main"), "--output", "json")
	if err := expect("created", text, err); err != nil {
		return err
	}
	if err := f.lists("acme/tiny", f.at("main"), "1.1.0"); err == nil {
		return errors.New("list prints a pending version")
	}
	promote := []string{"promote", "acme/tiny@1.1.0", "--to", f.at("main"), "--output", "json"}
	text, refused := f.run(append(promote, "--reason", "tested")...)
	if refused != nil {
		text, err = f.run(promote...)
	}
	if err := expect("promoted", text, err); err != nil {
		return err
	}
	return cmp.Or(refused, f.lists("acme/tiny", f.at("main"), "1.1.0"))
}

// publish publishes local zips with an SBOM of the release, which is a referrer. If that
// fails, publish follows the hint, so that later steps find the release.
func (f *productFlow) publish() error {
	const sbom = "terraform-provider-tool_1.0.0.spdx.json"
	dist := f.t.TempDir()
	for p, archive := range tinyRelease(f.t, "tool", "1.0.0").Archives {
		write(f.t, filepath.Join(dist, fmt.Sprintf("terraform-provider-tool_1.0.0_%s.zip", p)), string(archive.Bytes))
	}
	write(f.t, filepath.Join(dist, sbom), `{"spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT", "name": "tool"}`)
	publish := []string{"publish", dist, "--provider", "acme/tool", "--to", f.at("main"), "--output", "json"}
	text, refused := f.send(publish...)
	var err error
	if refused != nil {
		text, err = f.send(append(publish, "--no-referrers")...)
	} else {
		f.sbom = sbom
	}
	if err := expect("created", text, err); err != nil {
		return err
	}
	return cmp.Or(refused, f.lists("acme/tool@1.0.0", f.at("main"), f.sbom))
}

// lists checks that list prints a version or a referrer.
func (f *productFlow) lists(release, from, want string) error {
	text, err := f.run("list", release, "--from", from)
	if err == nil && !strings.Contains(text, want) {
		return fmt.Errorf("list prints no %s:\n%s", want, text)
	}
	return err
}

// deny denies a released version, so OpenTofu must not install it. If the tag can't be
// deleted, OpenTofu still finds the version, but no package.
func (f *productFlow) deny() error {
	text, err := f.run("deny", "acme/tiny@1.1.0", "--reason", "it phones home", "--overwrite", "--to", f.at("main"), "--output", "json")
	if err := expect("denied", text, err); err != nil {
		return err
	}
	want := "no available releases match"
	switch {
	case f.product.start == nil:
		want = "version is denied"
	case strings.Contains(f.lacks, "delete-tag"):
		want = "unsupported artifact type"
	}
	err = f.install("1.1.0", "")
	if failed, ok := errors.AsType[*commandError](err); ok && strings.Contains(failed.text(), want) {
		return nil
	}
	return fmt.Errorf("installing the denied version: got %w, want an error that contains %q", err, want)
}

// copy copies the releases with their referrers to image layouts.
func (f *productFlow) copy() error {
	to := "oci-layout:" + filepath.ToSlash(f.dir) + "/copied/{namespace}/{type}"
	text, err := f.run("copy", "acme/tiny@1.0.0", "acme/tool", "--from", f.at("main"), "--to", to, "--output", "json")
	if err := expect("created", text, err); err != nil {
		return err
	}
	return f.lists("acme/tool@1.0.0", to, f.sbom)
}

// bundle transfers the releases with their referrers to new repositories. The bundle also
// contains the denial of the other version.
func (f *productFlow) bundle() error {
	bundle := filepath.Join(f.dir, "up.tar")
	if _, err := f.run("bundle", "create", "acme/tiny@1.0.0", "acme/tool", "--from", f.at("main"), "--out", bundle); err != nil {
		return err
	}
	text, err := f.send("bundle", "import", bundle, "--to", f.at("imported"), "--output", "json")
	if err := expect("created or denied", text, err); err != nil {
		return err
	}
	return f.lists("acme/tool@1.0.0", f.at("imported"), f.sbom)
}

// sync mirrors the newest version of a declaration, and prunes the other one in the second
// run.
func (f *productFlow) sync() error {
	if text, err := f.send("mirror", "acme/tiny", "--all", "--to", f.at("synced"), "--output", "json"); err != nil {
		return expect("created", text, err)
	}
	declaration := filepath.Join(f.dir, "mirror.hcl")
	write(f.t, declaration, fmt.Sprintf(`version = 1
target "main" {
  repository = %q
}
provider "acme/tiny" {
  latest = 1
}
prune {
  mode          = "delete"
  keep_previous = 0
  keep_for      = "0s"
}
`, f.at("synced")))
	second := "pruned"
	if strings.Contains(f.lacks, "delete-tag") {
		second = "held"
	}
	for _, status := range []string{"marked", second} {
		text, err := f.send("sync", "apply", declaration)
		if err != nil {
			return err
		}
		if !strings.Contains(text, " 1.0.0 "+status+" ") {
			return fmt.Errorf("1.0.0 was not %s:\n%s", status, text)
		}
	}
	return nil
}

// module pushes a module. OpenTofu installs it in the step init.
func (f *productFlow) module() error {
	dir := f.t.TempDir()
	write(f.t, filepath.Join(dir, "main.tf"), "output \"text\" {\n  value = \"hello\"\n}\n")
	for _, status := range []string{"created", "unchanged"} {
		text, err := f.send("module", "push", dir, "--version", "1.0.0", "--to", f.moduleRepository(), "--output", "json")
		if err := expect(status, text, err); err != nil {
			return err
		}
	}
	return nil
}

func (f *productFlow) moduleRepository() string {
	return strings.NewReplacer("{namespace}", "acme", "{type}", "vpc").Replace(f.at("modules"))
}

// init installs the remaining version and the module with OpenTofu, which reads modules only
// from registries.
func (f *productFlow) init() error {
	if f.product.start == nil {
		return f.install("1.0.0", "")
	}
	return f.install("1.0.0", fmt.Sprintf("module \"vpc\" {\n  source = \"oci://%s?tag=1.0.0\"\n}\n", f.moduleRepository()))
}

// install runs tofu init for a version and further blocks.
func (f *productFlow) install(version, blocks string) error {
	root := f.t.TempDir()
	installation, err := f.installation(version, filepath.ToSlash(filepath.Join(root, "mirror")))
	if err != nil {
		return err
	}
	cli := filepath.Join(root, "tofurc")
	write(f.t, cli, installation+f.credentials)
	write(f.t, filepath.Join(root, "main.tf"), fmt.Sprintf("terraform {\n  required_providers {\n    tiny = { source = \"acme/tiny\", version = %q }\n  }\n}\n%s", version, blocks))
	cmd := command(f.t, programs.tofu, "-chdir="+root, "init", "-input=false", "-no-color")
	cmd.Env = append(cmd.Env, "TF_CLI_CONFIG_FILE="+cli)
	_, err = f.execute(cmd)
	return err
}

// installation returns a provider_installation block. OpenTofu can't read image layouts, so
// installation pulls the version from them to the directory mirror.
func (f *productFlow) installation(version, mirror string) (string, error) {
	if f.product.start != nil {
		return f.execute(command(f.t, programs.tofuOCI, "tofurc", f.at("main")))
	}
	_, err := f.run("pull", "acme/tiny@"+version, "--from", f.at("main"), "--dir", mirror, "--layout", "packed")
	return fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror), err
}

// doctor probes the registry. The checks that fail must be those that the product lacks.
func (f *productFlow) doctor() error {
	text, err := f.run("doctor", "acme/tiny", "--to", f.at("main"), "--probe", "--output", "json")
	if err != nil {
		return err
	}
	var report struct {
		Items []struct {
			Probe struct {
				Checks []struct{ Name, Result string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	var lacks []string
	for _, item := range report.Items {
		for _, c := range item.Probe.Checks {
			if c.Result != "works" && c.Result != "fallback" {
				lacks = append(lacks, c.Name)
			}
		}
	}
	if got := strings.Join(lacks, " "); got != f.lacks {
		return fmt.Errorf("these checks fail: %q, want %q\n%s", got, f.lacks, text)
	}
	return nil
}

// tinyRelease returns a release of acme/TYPE with tiny zips for the current platform and
// another one.
func tinyRelease(t *testing.T, typ, version string) origintest.Release {
	t.Helper()
	r := origintest.Release{Namespace: "acme", Type: typ, Version: version, Protocols: []string{"5.0"}, Archives: map[provider.Platform]origintest.Archive{}}
	for _, p := range []provider.Platform{provider.CurrentPlatform(), {OS: "windows", Arch: "386"}} {
		var b bytes.Buffer
		archive := zip.NewWriter(&b)
		header := &zip.FileHeader{Name: executable(typ, version, p)}
		header.SetMode(0o755)
		w, err := archive.CreateHeader(header)
		if err == nil {
			_, err = fmt.Fprintln(w, typ, version, p)
		}
		if err := errors.Join(err, archive.Close()); err != nil {
			t.Fatal(err)
		}
		r.Archives[p] = origintest.Archive{Bytes: b.Bytes()}
	}
	return r
}
