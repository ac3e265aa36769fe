package e2e_test

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// rootModule is a module in the registry of [rootWorld].
type rootModule struct {
	// versions lists the versions as the registry writes them.
	versions []string
	// files contains the files in all versions. Each version also has a marker.tf that
	// requires a separate provider.
	files map[string]string
}

// rootWorld is a module registry, and providers for all versions of its modules.
type rootWorld struct {
	url string
	// config is the path of the CLI configuration.
	config string
}

// newRootWorld starts the registry. Each version of a module requires a different
// provider, so the locked providers show which versions were read.
func newRootWorld(t *testing.T) *rootWorld {
	t.Helper()
	w := &rootWorld{config: filepath.Join(t.TempDir(), "tofurc")}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/modules/acme/{name}/test/versions", w.versions)
	mux.HandleFunc("GET /v1/modules/acme/{name}/test/{version}/download", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("X-Terraform-Get", w.url+"/archives/"+r.PathValue("name")+"/"+r.PathValue("version")+"?archive=zip")
		rw.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /archives/{name}/{version}", w.archive)
	w.url = serve(t, mux)
	providers := t.TempDir()
	for name, m := range rootModules {
		for _, version := range m.versions {
			typ := markerOf(name, version)
			write(t, filepath.Join(providers, "registry.opentofu.org", "acme", typ, "1.0.0", provider.CurrentPlatform().String(), "terraform-provider-"+typ+"_v1.0.0"), typ)
		}
	}
	text := filesystemMirror(providers)
	for _, host := range []string{"registry.opentofu.org", "modules.example.com"} {
		text += modulesAt(host, w.url+"/v1/modules/")
	}
	write(t, w.config, text)
	return w
}

func (w *rootWorld) versions(rw http.ResponseWriter, r *http.Request) {
	m, ok := rootModules[r.PathValue("name")]
	if !ok {
		http.NotFound(rw, r)
		return
	}
	list := func(versions []string) map[string]any {
		all := []any{}
		for _, v := range versions {
			all = append(all, map[string]string{"version": v})
		}
		return map[string]any{"versions": all}
	}
	// OpenTofu ignores all entries except the first.
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(map[string]any{"modules": []any{list(m.versions), list([]string{"9.0.0"})}})
}

func (w *rootWorld) archive(rw http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	files := map[string]string{"marker.tf": fmt.Sprintf("terraform {\n  required_providers {\n    marker = { source = \"acme/%s\" }\n  }\n}\n", markerOf(name, r.PathValue("version")))}
	maps.Copy(files, rootModules[name].files)
	rw.Header().Set("Content-Type", "application/zip")
	z := zip.NewWriter(rw)
	for path, text := range files {
		if entry, err := z.Create(path); err == nil {
			_, _ = entry.Write([]byte(text))
		}
	}
	_ = z.Close()
}

// markerOf returns the type of the provider that a version of a module requires.
func markerOf(name, version string) string {
	version = strings.TrimPrefix(version, "v")
	for strings.Count(version, ".") < 2 && regexp.MustCompile(`^[0-9.]+$`).MatchString(version) {
		version += ".0"
	}
	return regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(name+"-"+version, "-")
}

// rootCase is a configuration. By default, OpenTofu and tofu-oci must select the same
// versions of the same modules, or both must reject the configuration.
type rootCase struct {
	// config is the content of main.tf, followed by other files in txtar's format.
	config string
	// env contains environment variables.
	env []string
	// want lists the selected modules without their host and namespace, such as
	// "a 1.2.0", sorted. If it is nil, OpenTofu rejects the configuration.
	want []string
	// unresolved lists the calls that OpenTofu resolves, but tofu-oci doesn't.
	unresolved []string
	// lenient explains why tofu-oci accepts a configuration that OpenTofu rejects.
	lenient string
}

// directory writes the files of a case.
func (c rootCase) directory(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	archive := txtar.Parse([]byte(c.config))
	for _, f := range append(archive.Files, txtar.File{Name: "main.tf", Data: archive.Comment}) {
		if len(f.Data) > 0 {
			write(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
		}
	}
	return dir
}

// command returns a command that runs in the directory of a case.
func (w *rootWorld) command(t *testing.T, c rootCase, dir, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, program, args...)
	cmd.Dir, cmd.Env = dir, append(append(cmd.Env, "TF_CLI_CONFIG_FILE="+w.config), c.env...)
	return cmd
}

// TestRootsMatchTofu compares the module versions that tofu-oci selects for root modules
// with those of the real tofu init. After init, tofu-oci lock must lock the same
// providers, so it must have read the same modules.
func TestRootsMatchTofu(t *testing.T) {
	t.Parallel()
	w := newRootWorld(t)
	running := make(chan struct{}, max(4, runtime.NumCPU()))
	for name, c := range rootCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			running <- struct{}{}
			defer func() { <-running }()
			dir := c.directory(t)
			// 1. Before init, tofu-oci reads the modules from the registry.
			ours, unresolved, code := w.selected(t, c, dir)
			// 2. OpenTofu
			output, err := w.command(t, c, dir, programs.tofu, "init", "-input=false", "-no-color").CombinedOutput()
			if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
				t.Fatal(err)
			}
			if (err == nil) != (c.want != nil) {
				t.Fatalf("unexpected result of tofu init: %v\n%s", err, output)
			}
			if err != nil {
				if (code == 0) != (c.lenient != "") {
					t.Errorf("exit code %d, selected %q; OpenTofu rejects the configuration:\n%s", code, ours, output)
				}
				return
			}
			theirs := []string{}
			for _, m := range installedIn(t, dir) {
				if m.Version != "" {
					source, _, _ := strings.Cut(m.Source, "//")
					theirs = append(theirs, short(source)+" "+m.Version)
				}
			}
			slices.Sort(theirs)
			theirs = slices.Compact(theirs)
			if diff := cmp.Diff(c.want, theirs); diff != "" {
				t.Errorf("OpenTofu (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.unresolved, unresolved); diff != "" {
				t.Errorf("unresolved calls (-want +got):\n%s", diff)
			}
			if len(c.unresolved) > 0 {
				theirs = slices.DeleteFunc(theirs, func(m string) bool { return !slices.Contains(ours, m) })
			}
			if diff := cmp.Diff(theirs, ours); diff != "" || code == 0 != (len(c.unresolved) == 0) {
				t.Errorf("exit code %d, selected modules (-OpenTofu +tofu-oci):\n%s", code, diff)
			}
			// 3. tofu-oci reads the installed modules.
			w.compareLocks(t, c, dir)
		})
	}
}

// short returns the name of a module in a registry.
func short(address string) string {
	return strings.TrimSuffix(strings.TrimPrefix(address, "registry.opentofu.org/acme/"), "/test")
}

// selected returns the modules that module mirror --root selects, the calls that it
// can't resolve, and the exit code.
func (w *rootWorld) selected(t *testing.T, c rootCase, dir string) (modules, unresolved []string, code int) {
	t.Helper()
	cmd := w.command(t, c, dir, programs.tofuOCI, "module", "mirror", "--root", ".", "--dry-run", "--output", "json",
		"--to", "oci-layout:"+filepath.ToSlash(t.TempDir())+"/{hostname}/{name}", "--ca-file", world.caFile)
	output, err := cmd.Output()
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case exited:
		code = exit.ExitCode()
		t.Logf("tofu-oci: %s", exit.Stderr)
	case err != nil:
		t.Fatal(err)
	}
	var document struct {
		Items   []struct{ Provider, Version string }
		Summary struct {
			Direct []struct {
				Address    string
				Unresolved bool
			} `json:"direct_modules"`
		}
	}
	modules = []string{}
	if len(output) == 0 {
		return modules, nil, code
	}
	if err := json.Unmarshal(output, &document); err != nil {
		t.Fatal(err)
	}
	for _, i := range document.Items {
		modules = append(modules, short(i.Provider)+" "+i.Version)
	}
	for _, d := range document.Summary.Direct {
		if d.Unresolved {
			unresolved = append(unresolved, d.Address)
		}
	}
	slices.Sort(modules)
	return modules, unresolved, code
}

// compareLocks compares the providers that tofu-oci lock locks with those that tofu init
// locked.
func (w *rootWorld) compareLocks(t *testing.T, c rootCase, dir string) {
	t.Helper()
	file := filepath.Join(dir, ".terraform.lock.hcl")
	locked := func() (all []string) {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, s := range parseLock(t, text).Selections() {
			all = append(all, s.Address.Type)
		}
		return all
	}
	theirs := locked()
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	if output, err := w.command(t, c, dir, programs.tofuOCI, "lock", "--ca-file", world.caFile).CombinedOutput(); err != nil || strings.Contains(string(output), "unknown") {
		t.Errorf("lock: %v\n%s", err, output)
	}
	if diff := cmp.Diff(theirs, locked()); diff != "" {
		t.Errorf("locked providers (-OpenTofu +tofu-oci):\n%s", diff)
	}
}

// TestInstalledModulesMatchTofu changes configurations after init. tofu-oci lock must read
// an installed module only if the next tofu init keeps it.
func TestInstalledModulesMatchTofu(t *testing.T) {
	t.Parallel()
	w := newRootWorld(t)
	source := func(source string) string { return "module \"a\" {\n  source = \"" + source + "\"\n}\n" }
	for name, test := range map[string]struct {
		before, after string
		kept          bool
	}{
		"equal":                   {calls("a", `"1.0.0"`), calls("a", `"= 1.0.0"`), true},
		"wider":                   {calls("a", `"1.0.0"`), calls("a", `"~> 1.0"`), true},
		"pessimistic, major":      {calls("a", `"2.0.0"`), calls("a", `"~> 1"`), true},
		"no constraint":           {calls("a", `"1.0.0"`), calls("a", "null"), true},
		"newer":                   {calls("a", `"1.0.0"`), calls("a", `"> 1.0"`), false},
		"pre-release":             {calls("a", `"3.0.0-rc1"`), calls("a", `">= 3.0.0-rc1"`), true},
		"no longer a pre-release": {calls("a", `"3.0.0-rc1"`), calls("a", `">= 2.0"`), false},
		"four numbers":            {calls("a", `"1.0.0"`), calls("a", `"1.0.0.0"`), true},
		"prefixed":                {calls("prefixed", ""), calls("prefixed", `"v2.0.0"`), true},
		"default host":            {source("acme/a/test"), source("registry.opentofu.org/acme/a/test"), true},
		"another host":            {source("acme/a/test"), source("modules.example.com/acme/a/test"), false},
		"from another host":       {source("modules.example.com/acme/a/test"), source("acme/a/test"), false},
		"host in capitals":        {source("modules.example.com/acme/a/test"), source("Modules.Example.com/acme/a/test"), true},
		"another module":          {source("acme/a/test"), source("acme/many/test"), false},
		"subdirectory":            {source("acme/nested/test"), source("acme/nested/test//sub"), false},
		"other subdirectory":      {source("acme/nested/test//other"), source("acme/nested/test//sub"), false},
		"URL":                     {source("acme/a/test"), source(w.url + "/archives/a/1.0.0?archive=zip"), false},
		"from a URL":              {source(w.url + "/archives/a/1.0.0?archive=zip"), source("acme/a/test"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			get := func(config string) []installedModule {
				write(t, filepath.Join(dir, "main.tf"), config)
				output(t, w.command(t, rootCase{}, dir, programs.tofu, "get", "-no-color"))
				return installedIn(t, dir)
			}
			before := get(test.before)
			write(t, filepath.Join(dir, "main.tf"), test.after)
			text, err := w.command(t, rootCase{}, dir, programs.tofuOCI, "lock", "--dry-run", "--ca-file", world.caFile).CombinedOutput()
			if isRead := !strings.Contains(string(text), "are unknown"); err != nil || isRead != test.kept {
				t.Errorf("%v\n%s", err, text)
			}
			if kept := cmp.Equal(before, get(test.after)); kept != test.kept {
				t.Errorf("tofu keeps the module: %v", kept)
			}
		})
	}
}

// TestRootCommands checks that sync and exec use the same modules as mirror --root.
func TestRootCommands(t *testing.T) {
	t.Parallel()
	w := newRootWorld(t)
	// 1. sync
	dir := t.TempDir()
	write(t, filepath.Join(dir, "live", "one", "main.tf"), calls("a", `"~> 1"`)+calls("prefixed", ""))
	write(t, filepath.Join(dir, "live", "two", "main.tf"), calls("many", `"<  1.10, != 1.9.9.0"`))
	write(t, filepath.Join(dir, "mirror.hcl"), "version = 1\nroots = [\"live/*\"]\ntarget \"main\" {\n  repository = \"oci-layout:p/{type}\"\n  modules = \"oci-layout:m/{name}\"\n}\n")
	text, err := w.command(t, rootCase{}, dir, programs.tofuOCI, "sync", "plan", "--ca-file", world.caFile).CombinedOutput()
	t.Logf("%v\n%s", err, text)
	for _, m := range []string{"a/test 2.1.0", "prefixed/test 2.0.0", "many/test 0.10.1"} {
		name, version, _ := strings.Cut(m, " ")
		if !regexp.MustCompile(`acme/` + name + ` +` + regexp.QuoteMeta(version)).Match(text) {
			t.Errorf("sync doesn't select %s", m)
		}
	}
	// 2. exec
	write(t, filepath.Join(dir, "exec", "main.tf"), calls("a", `"~> 1"`)+calls("many", "max(1, 2)"))
	write(t, filepath.Join(dir, "exec", ".terraform.lock.hcl"), "")
	text, err = w.command(t, rootCase{}, filepath.Join(dir, "exec"), programs.tofuOCI, "exec", "--cache", t.TempDir(), "--ca-file", world.caFile, "--", programs.tofu, "init", "-input=false", "-no-color").CombinedOutput()
	if !strings.Contains(string(text), `("acme/many/test"): the version calls the function max`) {
		t.Errorf("exec doesn't report the unresolved call: %v\n%s", err, text)
	}
}
