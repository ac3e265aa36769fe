package module_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// addNamed adds a version of a module whose package is an archive with a file main.tf.
// HOST in texts represents the server.
func (w *world) addNamed(t *testing.T, name, version, text string, more ...string) {
	t.Helper()
	contents := map[string]string{"main.tf": strings.ReplaceAll(text, "HOST", w.host)}
	for i := 0; i < len(more); i += 2 {
		contents[more[i]] = strings.ReplaceAll(more[i+1], "HOST", w.host)
	}
	at := "/archives/" + name + "/" + version + ".zip"
	w.archives[at] = zipOf(t, contents)
	w.origin.AddModule(origintest.Module{Name: name, Version: version, Location: "https://" + w.host + at})
}

// root writes a root module.
func (w *world) root(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), strings.ReplaceAll(text, "HOST", w.host))
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// open opens the target for any reference.
func (w *world) open(template.Reference) (repository.Reader, error) { return w.target, nil }

// dependencies returns the dependencies of root modules, and their descriptions.
func (w *world) dependencies(t *testing.T, o module.DependencyOptions, dirs ...string) (c *module.Dependencies, modules, providers, direct []string, err error) {
	t.Helper()
	o.Open = w.open
	if c, err = module.FindDependencies(t.Context(), w.modules, dirs, o); err != nil {
		return nil, nil, nil, nil, err
	}
	t.Cleanup(c.Close)
	shown := func(text string) string {
		for i, dir := range dirs {
			text = strings.ReplaceAll(text, dir, fmt.Sprint("ROOT", i))
		}
		return filepath.ToSlash(strings.ReplaceAll(text, w.host, "HOST"))
	}
	for _, m := range c.Modules {
		modules = append(modules, shown(m.String()))
	}
	for _, p := range c.Providers {
		providers = append(providers, strings.TrimPrefix(p.String(), "registry.opentofu.org/"))
	}
	for _, d := range c.NonRegistryCalls {
		direct = append(direct, shown(d.String()))
	}
	return c, modules, providers, direct, nil
}

// tree adds nested modules and returns a root module that calls them.
func (w *world) tree(t *testing.T) string {
	t.Helper()
	w.commit(t, "v1", map[string]string{
		"modules/a/main.tf": "terraform {\n required_providers {\n  tls = { source = \"acme/tls\", version = \"~> 4.0\" }\n }\n}\nmodule \"b\" {\n source = \"../b\"\n}\n",
		"modules/b/main.tf": "resource \"null_x\" \"x\" {}\n",
	})
	w.addNamed(t, "acme/stack/test", "1.0.0", "module \"broken\" {\n")
	w.addNamed(t, "acme/stack/test", "1.2.0", "module \"part\" {\n source = \"HOST/acme/part/test//modules/part\"\n version = \">= 1.0, < 2.0\"\n}\nmodule \"twin\" {\n source = \"HOST/acme/part/test\"\n version = \"v1.0.0\"\n}\nmodule \"git\" {\n source = \"git::https://HOST/git/vpc.git//modules/a?ref=v1\"\n}\n")
	w.addNamed(t, "acme/stack/test", "2.0.0-beta1", "")
	w.addNamed(t, "acme/part/test", "1.0.0", "resource \"random_x\" \"x\" {}\n")
	w.addNamed(t, "acme/part/test", "1.5.0", "", "modules/part/main.tf", "module \"up\" {\n source = \"../../modules/other\"\n}\n", "modules/other/main.tf", "resource \"time_x\" \"x\" {}\n")
	w.addNamed(t, "acme/part/test", "2.0.0", "")
	root := w.root(t, "module \"stack\" {\n source = \"HOST/acme/stack/test\"\n version = \"~> 1.0\"\n}\nmodule \"local\" {\n source = \"./local\"\n}\n")
	write(t, filepath.Join(root, "local", "main.tf"), "terraform {\n required_providers {\n  tls = { source = \"acme/tls\", version = \"!= 4.1.0\" }\n }\n}\n")
	// Installed modules are ignored.
	write(t, filepath.Join(root, ".terraform", "modules", "modules.json"), `{"Modules":[{"Key":"stack","Source":"`+w.host+`/acme/stack/test","Version":"1.0.0","Dir":"local"}]}`)
	return root
}

func TestRootDependencies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, modules, providers, direct, err := w.dependencies(t, module.DependencyOptions{}, w.tree(t))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"HOST/acme/part/test@1.0.0", "HOST/acme/part/test@1.5.0", "HOST/acme/stack/test@1.2.0"},
		{"acme/tls@~> 4.0, != 4.1.0", "hashicorp/null", "hashicorp/random", "hashicorp/time"},
		{"HOST/acme/stack/test@1.2.0//main.tf:9: module.stack.module.git: git::https://HOST/git/vpc.git//modules/a: a CLI configuration cannot redirect git repositories; use git config url.BASE.insteadOf https://HOST/git/vpc.git"},
	}
	slices.Sort(want[1])
	for i := range providers {
		parts := strings.Split(providers[i], "@")
		if len(parts) > 1 {
			constraints := strings.Split(parts[1], ", ")
			slices.Sort(constraints)
			slices.Reverse(constraints)
			providers[i] = parts[0] + "@" + strings.Join(constraints, ", ")
		}
	}
	if diff := cmp.Diff(want, [][]string{modules, providers, direct}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// Mirror doesn't download the packages again.
	w.requests = nil
	options := module.MirrorOptions{Dependencies: c, Open: w.open}
	stores := map[provider.Address]repository.Repository{}
	for _, m := range c.Modules {
		stores[m.Address.InRegistry()] = repository.NewLayout(t.TempDir())
	}
	options.Target = func(a provider.Address) (repository.Repository, publish.Options, error) {
		return stores[a], publish.Options{}, nil
	}
	if err := module.Mirror(t.Context(), w.modules, c.Modules, options); err != nil || len(w.requests) > 0 {
		t.Errorf("got %v, and requests %q", err, w.requests)
	}
	for _, m := range c.Modules {
		v, _ := m.Constraint.Exact()
		if i, err := repository.Inspect(t.Context(), stores[m.Address.InRegistry()], v.String(), repository.DepthManifests); err != nil || !i.Exists() {
			t.Errorf("%s is not stored: %v", m, err)
		}
	}
}

// TestDependenciesOfSeveralRoots checks that requirements of several roots aren't merged,
// and that the packages of wrapped archives and git repositories are reused.
func TestDependenciesOfSeveralRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.archives["/archives/tarball"] = tarOf(t, "acme-vpc-abc123/", map[string]string{"main.tf": "", "modules/subnet/main.tf": "resource \"aws_x\" \"x\" {}\n"})
	w.add("1.0.0", "https://HOST/archives/tarball//*?archive=tar.gz")
	commit := w.commit(t, "v2", map[string]string{"modules/vpc/main.tf": "resource \"aws_x\" \"x\" {}\n", "run.sh": "#!/bin/sh"})
	w.add("2.0.0", "git::https://HOST/git/vpc.git//modules/*?ref=v2")
	const call = "module \"m\" {\n source = \"HOST/acme/vpc/aws%s\"\n version = \"%s\"\n}\nterraform {\n required_providers {\n  aws = \"%s\"\n }\n}\n"
	c, modules, providers, direct, err := w.dependencies(t, module.DependencyOptions{},
		w.root(t, fmt.Sprintf(call, "//modules/subnet", "1.0.0", "~> 5.0")), w.root(t, fmt.Sprintf(call, "", "> 1.0", "~> 6.0")), w.root(t, fmt.Sprintf(call, "", "> 1.0", "~> 6.0")))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"HOST/acme/vpc/aws@1.0.0", "HOST/acme/vpc/aws@2.0.0"}, {"hashicorp/aws@~> 5.0", "hashicorp/aws@~> 6.0"}, nil}
	if diff := cmp.Diff(want, [][]string{modules, providers, direct}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.requests = nil
	if got := append(statuses(w.mirror(t, "@1.0.0", module.MirrorOptions{Dependencies: c})), statuses(w.mirror(t, "@2.0.0", module.MirrorOptions{Dependencies: c}))...); !slices.Equal(got, []string{"1.0.0 created", "2.0.0 created"}) {
		t.Errorf("got %q", got)
	}
	if len(w.requests) > 0 {
		t.Errorf("unexpected requests %q", w.requests)
	}
	if _, stored := w.stored(t, "1.0.0"); len(stored) != 2 || stored["modules/subnet/main.tf"] == "" {
		t.Errorf("got %v", stored)
	}
	if annotations, _ := w.stored(t, "2.0.0"); annotations["org.opencontainers.image.revision"] != commit {
		t.Errorf("got %v", annotations)
	}
}

// TestDependenciesOutsideRegistries checks sources that are not in a module registry.
func TestDependenciesOutsideRegistries(t *testing.T) { //nolint:tparallel // the server counts requests
	t.Parallel()
	w := newWorld(t)
	w.archives["/archives/a.zip"] = zipOf(t, map[string]string{"sub/main.tf": "resource \"tls_x\" \"x\" {}\n"})
	const unknown = "the requirements of the module are unknown, because "
	// If the text is empty, package git must refuse the source.
	for source, want := range map[string]string{
		`"https://HOST/archives/a.zip//sub?token=canary"`:     "https://HOST/archives/a.zip//sub: a CLI configuration cannot redirect URLs",
		`"https://HOST/archives/a"`:                           "https://HOST/archives/a: " + unknown + "the URL does not refer to a zip or tar.gz archive",
		`"git::https://u:canary@HOST/git/vpc.git"`:            "git::https://HOST/git/vpc.git: " + unknown + "the source contains credentials",
		`"git::https://canary@HOST/git/vpc.git"`:              "git::https://HOST/git/vpc.git: " + unknown + "the source contains credentials",
		`"git::ssh://u:canary@HOST/git/vpc.git"`:              "git::ssh://HOST/git/vpc.git: " + unknown + "the source contains credentials",
		`"https://canary@HOST/archives/a.zip"`:                "https://HOST/archives/a.zip: " + unknown + "the source contains credentials",
		`"s3::https://u:canary@HOST/a.zip?x=canary"`:          "s3::https://HOST/a.zip: " + unknown + "tofu-oci does not support this source",
		`"hg::u:canary@host/a"`:                               "***@host/a: " + unknown + "tofu-oci does not support this source",
		`"git::file:///etc"`:                                  "",
		`"git::ext::sh -c touch% /tmp/x"`:                     "",
		`"git::https://HOST/git/vpc.git?ref=--upload-pack=x"`: "",
		`"git::https://HOST/git/vpc.git?sshkey=canary"`:       "git::https://HOST/git/vpc.git: " + unknown + "tofu-oci does not support this source",
		`"/etc"`:        "/etc: " + unknown + "tofu-oci does not support this source",
		`"file:///etc"`: "file:///etc: " + unknown + "tofu-oci does not support this source",
		`upper("a")`:    unknown + "the source calls the function upper",
		"\"HOST/acme/vpc/aws\"\n version = upper(\"1\")": "HOST/acme/vpc/aws: " + unknown + "the version calls the function upper",
	} {
		t.Run(strings.ReplaceAll(source, "canary", ""), func(t *testing.T) {
			root := w.root(t, "module \"m\" {\n source = "+source+"\n}\n")
			c, modules, _, direct, err := w.dependencies(t, module.DependencyOptions{}, root)
			if err != nil || len(modules) > 0 || len(direct) != 1 {
				t.Fatalf("got %q, %q, %v", modules, direct, err)
			}
			got := strings.TrimPrefix(direct[0], "ROOT0/main.tf:1: module.m: ")
			if refused := strings.Contains(got, unknown) && strings.Contains(got, ": refused: "); want == "" && !refused || want != "" && got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if strings.Contains(fmt.Sprintf("%+v", c.NonRegistryCalls), "canary") {
				t.Errorf("credentials in %+v", c.NonRegistryCalls)
			}
		})
	}
}

// TestIncompleteDependency checks that a registry module is rejected if its package would be
// incomplete, even if a direct call has already fetched the incomplete package.
func TestIncompleteDependency(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.commit(t, "v1.0.0", map[string]string{"main.tf": "", ".gitmodules": "[submodule]\n"})
	w.add("1.0.0", "git::https://HOST/git/vpc.git?ref=v1.0.0")
	const direct, registry = "module \"a\" {\n source = \"git::https://HOST/git/vpc.git?ref=v1.0.0\"\n}\n", "module \"b\" {\n source = \"HOST/acme/vpc/aws\"\n}\n"
	for _, text := range []string{registry, direct + registry, registry + direct} {
		if _, _, _, _, err := w.dependencies(t, module.DependencyOptions{}, w.root(t, text)); err == nil || !strings.Contains(err.Error(), "the package would be incomplete") {
			t.Errorf("got %v", err)
		}
		if _, modules, _, _, err := w.dependencies(t, module.DependencyOptions{AllowIncomplete: true}, w.root(t, text)); err != nil || len(modules) != 1 {
			t.Errorf("got %v, %v", modules, err)
		}
	}
}

// TestDependenciesRefused checks hostile and broken module trees.
func TestDependenciesRefused(t *testing.T) { //nolint:tparallel // the server counts requests
	t.Parallel()
	w := newWorld(t)
	calls := func(source string, n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("module \"m%d\" {\n source = %q\n}\n", i, strings.ReplaceAll(source, "N", fmt.Sprint(i)))
		}
		return text
	}
	for i := range 4 {
		w.addNamed(t, fmt.Sprintf("acme/n%d/test", i), "1.0.0", "")
	}
	w.addNamed(t, "acme/cycle/test", "1.0.0", calls("HOST/acme/cycle2/test", 1))
	w.addNamed(t, "acme/cycle2/test", "1.0.0", calls("HOST/acme/cycle/test", 1))
	w.addNamed(t, "acme/many/test", "1.0.0", calls("HOST/acme/wide/test", 200))
	w.addNamed(t, "acme/wide/test", "1.0.0", calls("HOST/acme/n1/test", 200))
	w.addNamed(t, "acme/outside/test", "1.0.0", calls("../../../../../../../../etc", 1))
	w.addNamed(t, "acme/beside/test", "1.0.0", calls("../1", 1))
	w.addNamed(t, "acme/bad/test", "1.0.0", "module \"m\" {\n", "..%2f/x", "")
	w.addNamed(t, "acme/names/test", "1.0.0", "", "a/CON", "")
	w.add("1.0.0", "git::file:///etc")
	for name, test := range map[string]struct {
		text, want string
		options    module.DependencyOptions
	}{
		"packages":     {calls("HOST/acme/nN/test", 4), "more than 3 packages", module.DependencyOptions{MaxPackages: 3}},
		"bytes":        {calls("HOST/acme/nN/test", 1), "more than 10 bytes", module.DependencyOptions{MaxBytes: 10}},
		"cycle":        {calls("HOST/acme/cycle/test", 1), "HOST/acme/cycle2/test@1.0.0//main.tf:1:1: the module calls itself: ROOT → HOST/acme/cycle/test@1.0.0 → HOST/acme/cycle2/test@1.0.0 → HOST/acme/cycle/test@1.0.0", module.DependencyOptions{}},
		"calls":        {calls("HOST/acme/many/test", 1), "the configuration calls more than 20000 modules", module.DependencyOptions{}},
		"outside":      {calls("HOST/acme/outside/test", 1), "the source of module.m0.module.m0 is outside its caller's package", module.DependencyOptions{}},
		"beside":       {calls("HOST/acme/beside/test", 1), "is outside its caller's package", module.DependencyOptions{}},
		"subdirectory": {calls("HOST/acme/n1/test//none", 1), "the directory of module.m0 does not exist: HOST/acme/n1/test@1.0.0//none", module.DependencyOptions{}},
		"dots":         {calls("HOST/acme/n1/test//../../x", 1), "", module.DependencyOptions{}},
		"syntax":       {calls("HOST/acme/bad/test", 1), "HOST/acme/bad/test@1.0.0//main.tf:1", module.DependencyOptions{}},
		"names":        {calls("HOST/acme/names/test", 1), "name of a Windows device", module.DependencyOptions{}},
		"location":     {calls("HOST/acme/vpc/aws", 1), "only https and ssh are supported", module.DependencyOptions{}},
		"missing":      {calls("HOST/acme/none/test", 1), "module not found", module.DependencyOptions{}},
		"version":      {"module \"m\" {\n source = \"HOST/acme/n1/test\"\n version = \"~> 2.0\"\n}\n", "main.tf:1:1: fetching module.m: ", module.DependencyOptions{}},
	} {
		t.Run(name, func(t *testing.T) {
			root := w.root(t, test.text)
			c, _, _, direct, err := w.dependencies(t, test.options, root)
			if name == "dots" && (err != nil || len(direct) == 1 && direct[0] != "") {
				return // not a module registry address
			}
			if err == nil {
				t.Fatalf("got %v, %v", c.Modules, direct)
			}
			if got := strings.NewReplacer(w.host, "HOST", root, "ROOT", `\`, "/").Replace(err.Error()); !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestDependenciesCleanUp checks that neither an error nor a cancellation leaves files.
func TestDependenciesCleanUp(t *testing.T) {
	if testing.Short() {
		t.Skip("starts git")
	}
	w := newWorld(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	root := w.tree(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := module.DependencyOptions{Open: w.open}
	c, err := module.FindDependencies(ctx, w.modules, []string{root}, o)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	cancel()
	if _, err := module.FindDependencies(ctx, w.modules, []string{root}, o); err == nil {
		t.Error("no error after the cancellation")
	}
	if _, err := module.FindDependencies(t.Context(), w.modules, []string{root, filepath.Join(root, "none")}, o); err == nil {
		t.Error("no error for a missing directory")
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
