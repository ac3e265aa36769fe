package configuration

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"

	goversion "github.com/hashicorp/go-version"
	tfaddr "github.com/hashicorp/terraform-registry-address"
)

// record is an entry in modules.json, the list of modules that init installed.
type record struct {
	// Key is the call's path, such as "network.dns".
	Key     string
	Source  string
	Version string
	// Dir is relative to the root module.
	Dir string
}

// installed contains the modules in the data directory.
type installed struct {
	root string
	// modules is the directory of the installed modules.
	modules string
	records map[string]record
}

// readInstalled reads modules.json. The file does not exist before the first init.
func (r *reader) readInstalled(root string) installed {
	data := r.options.DataDir
	if data == "" {
		data = ".terraform"
	}
	in := installed{root: root, modules: filepath.Join(cliconfig.ResolvePath(root, data), "modules"), records: map[string]record{}}
	path := filepath.Join(in.modules, "modules.json")
	text, err := bounded.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return in
	}
	var manifest struct{ Modules []record }
	if err == nil && len(text) > 0 {
		err = bounded.JSONError(json.Unmarshal(text, &manifest))
	}
	if err != nil {
		r.add(stricthcl.Position{File: path}, "reading the list of installed modules: %w", bare(err))
		return in
	}
	for _, m := range manifest.Modules {
		in.records[m.Key] = m
	}
	return in
}

// find returns a call's record, or explains why no record matches.
func (in installed) find(key string, c call) (record, string) {
	found, ok := in.records[key]
	if !ok {
		return record{}, "the module is not installed"
	}
	if c.source != "" && !sameSource(c.source, found.Source) {
		return record{}, fmt.Sprintf("the module is installed from %q", found.Source)
	}
	if c.version != "" && !allows(c.version, found.Version) {
		return record{}, fmt.Sprintf("the installed version %s does not meet %q", found.Version, c.version)
	}
	return found, ""
}

// sameSource reports whether a module was installed from a source. init writes sources
// in a canonical form. Sources outside of registries are written as URLs, which are
// assumed to be equal.
func sameSource(source, written string) bool {
	called, err := tfaddr.ParseModuleSource(source)
	found, writtenErr := tfaddr.ParseModuleSource(written)
	if err != nil || writtenErr != nil {
		return (err == nil) == (writtenErr == nil)
	}
	// Without a host, the module can be from the default registry of either program,
	// because --terraform can be used in a directory that tofu initialized.
	if address, _, _ := strings.Cut(source, "//"); strings.Count(address, "/") == 2 {
		called.Package.Host = provider.DefaultHost
		if found.Package.Host == tfaddr.DefaultModuleRegistryHost {
			found.Package.Host = provider.DefaultHost
		}
	}
	return called == found
}

// allows reports whether init keeps an installed version. Unlike for new installations,
// it has no special rule for pre-releases.
func allows(constraint, version string) bool {
	c, err := goversion.NewConstraint(constraint)
	v, versionErr := goversion.NewVersion(version)
	return err == nil && versionErr == nil && c.Check(v)
}

// dir returns the module's directory and the directory of its package. The module and
// its local modules must be inside the package.
func (in installed) dir(rec record) (dir, packageDir string, ok bool) {
	dir = cliconfig.ResolvePath(in.root, filepath.FromSlash(rec.Dir))
	below, ok := relative(in.modules, dir)
	if !ok || below == "." {
		return "", "", false
	}
	first, _, _ := strings.Cut(filepath.ToSlash(below), "/")
	return dir, filepath.Join(in.modules, first), true
}

// relative returns a path relative to a directory and reports whether the path is
// inside the directory.
func relative(dir, path string) (string, bool) {
	from, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(from, to)
	return rel, err == nil && filepath.IsLocal(rel)
}
