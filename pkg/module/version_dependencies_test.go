package module_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestDependencies finds the modules that a module and its submodules call, first from
// the origin, and then from mirrors that contain some of the modules.
func TestDependencies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addNamed(t, "acme/stack/test", "1.0.0", "variable \"required\" {}\nmodule \"part\" {\n source = \"HOST/acme/part/test\"\n version = \"~> 2.0\"\n}\n",
		"modules/extra/main.tf", "module \"extra\" {\n source = \"HOST/acme/extra/test\"\n}\n",
		"modules/docs/README.md", "no configuration",
		"examples/all/main.tf", "module \"example\" {\n source = \"HOST/acme/none/test\"\n}\n")
	w.addNamed(t, "acme/part/test", "2.0.0", "module \"leaf\" {\n source = \"HOST/acme/leaf/test\"\n}\n")
	w.addNamed(t, "acme/part/test", "3.0.0", "")
	w.addNamed(t, "acme/leaf/test", "1.0.0", "")
	w.addNamed(t, "acme/extra/test", "1.0.0", "")
	of := w.exactly(t, "HOST/acme/stack/test@1.0.0")
	dir := t.TempDir()
	stored := func(a module.Address) (repository.Reader, error) { return w.mirrorOf(dir, a), nil }

	check := func(from string, o module.DependencyOptions, modules, missing []string) {
		t.Helper()
		o.Open = w.open
		origin := w.modules
		if from == "mirror" {
			origin = nil
		}
		c, err := module.FindVersionDependencies(t.Context(), origin, of, o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var found, lacking []string
		for _, r := range c.Of(of[0]) {
			found = append(found, strings.ReplaceAll(r.String(), w.host, "HOST"))
		}
		for _, call := range c.Missing {
			lacking = append(lacking, strings.ReplaceAll(call.String(), w.host, "HOST"))
		}
		if diff := cmp.Diff(modules, found); diff != "" {
			t.Errorf("%s: %s", from, diff)
		}
		if diff := cmp.Diff(missing, lacking); diff != "" {
			t.Errorf("%s: %s", from, diff)
		}
		var failed *module.MissingError
		if errors.As(c.MissingErr(), &failed) != (len(missing) > 0) {
			t.Errorf("%s: %v", from, c.MissingErr())
		}
	}
	all := []string{"HOST/acme/extra/test@1.0.0", "HOST/acme/leaf/test@1.0.0", "HOST/acme/part/test@2.0.0"}
	check("origin", module.DependencyOptions{}, all, nil)
	w.mirrorTo(t, dir, "HOST/acme/stack/test@1.0.0", "HOST/acme/part/test@3.0.0")
	check("origin", module.DependencyOptions{Stored: stored}, all, nil)
	check("mirror", module.DependencyOptions{Stored: stored}, nil, []string{
		"HOST/acme/stack/test@1.0.0//main.tf:2:1 calls HOST/acme/part/test@~> 2.0, but the mirror contains no matching version",
		"HOST/acme/stack/test@1.0.0//modules/extra/main.tf:1:1 calls HOST/acme/extra/test, but the mirror contains no matching version",
	})
	w.mirrorTo(t, dir, "HOST/acme/part/test@2.0.0", "HOST/acme/extra/test@1.0.0", "HOST/acme/leaf/test@1.0.0")
	check("mirror", module.DependencyOptions{Stored: stored}, all, nil)
}

// TestDependenciesFail checks that a module that can't be read doesn't affect others, and
// that errors don't contain temporary paths.
func TestDependenciesFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addNamed(t, "acme/broken/test", "1.0.0", "module \"gone\" {\n source = \"HOST/acme/gone/test\"\n}\n")
	w.addNamed(t, "acme/good/test", "1.0.0", "module \"leaf\" {\n source = \"HOST/acme/leaf/test\"\n}\n")
	w.addNamed(t, "acme/leaf/test", "1.0.0", "")
	of := w.exactly(t, "HOST/acme/broken/test@1.0.0", "HOST/acme/good/test@1.0.0")
	if _, err := module.FindVersionDependencies(t.Context(), w.modules, of, module.DependencyOptions{Open: w.open}); provider.KindOf(err) != provider.NotFound || strings.Contains(err.Error(), filepath.ToSlash(t.TempDir())) {
		t.Errorf("got %v", err)
	}
	var failed []string
	c, err := module.FindVersionDependencies(t.Context(), w.modules, of, module.DependencyOptions{Open: w.open, OnError: func(of string, _ error) { failed = append(failed, of) }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(failed) != 1 || failed[0] != of[0].String() || len(c.Of(of[1])) != 1 {
		t.Errorf("failed %v, found %v", failed, c.Of(of[1]))
	}
}

// exactly parses requirements in which HOST represents the server.
func (w *world) exactly(t *testing.T, texts ...string) (all []module.Requirement) {
	t.Helper()
	for _, text := range texts {
		r, err := module.ParseRequirement(strings.ReplaceAll(text, "HOST", w.host))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func (w *world) mirrorOf(dir string, a module.Address) repository.Repository {
	return repository.NewLayout(filepath.Join(dir, a.Name))
}

// mirrorTo mirrors versions to layouts in a directory.
func (w *world) mirrorTo(t *testing.T, dir string, versions ...string) {
	t.Helper()
	var o module.MirrorOptions
	o.Open = w.open
	o.Target = func(a provider.Address) (repository.Repository, publish.Options, error) {
		return w.mirrorOf(dir, module.FromRegistry(a)), publish.Options{}, nil
	}
	o.OnResult = func(r mirror.Result) {
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
	if err := module.Mirror(t.Context(), w.modules, w.exactly(t, versions...), o); err != nil {
		t.Fatal(err)
	}
}
