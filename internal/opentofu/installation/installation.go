// Package installation returns the releases that OpenTofu would install according to
// its CLI configuration. It also determines a provider's repository from oci_mirror
// blocks.
//
// Use this package to find providers in the same locations as OpenTofu on the same
// machine. If you know the location, use a package below source.
//
// The rules are the same as in OpenTofu's MultiSource and its sources:
//
//   - Versions are merged from all methods that match the provider. A method that doesn't
//     know the provider is skipped. Any other error ends the search.
//   - A package comes from the first method that has it. A method is skipped if it
//     lacks the platform. The methods direct and filesystem_mirror are also skipped if
//     they lack the version or the provider. If an oci_mirror or a network_mirror lacks
//     either, or any other error occurs, the search ends.
//   - Without a provider_installation block, the methods are OpenTofu's existing plugin
//     directories and, for all providers that are not in these directories, direct.
package installation

import (
	"errors"
	"fmt"
	"os"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/filesystem"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Options configures an [Installation].
type Options struct {
	// Config is the CLI configuration. Only its Installation field is used.
	Config cliconfig.Config
	// PluginDirs contains the directories that are used if the configuration has no
	// provider_installation block. See [cliconfig.Environment.PluginDirs].
	PluginDirs []string
	// Direct is the source of releases in origin registries. It is required if a method
	// is direct, or if the configuration has no provider_installation block.
	Direct provider.Source
	// OCI returns the source for a template's repositories. It is required if a method
	// is an oci_mirror.
	OCI func(template.Template) provider.Source
	// Network returns the source for the URL of a network mirror. It is required if a
	// method is a network_mirror.
	Network func(url string) (provider.Source, error)
}

// Installation returns releases according to a CLI configuration. It is a
// [provider.Source] and safe for concurrent use. Like all sources, it must be used for
// only a single run.
type Installation struct {
	block   *cliconfig.Installation
	methods []*method
}

var _ provider.Capable = (*Installation)(nil)

// method is an installation method together with its source.
type method struct {
	cliconfig.Method
	source provider.Source
	// unless contains sources whose providers are excluded from the method.
	unless []provider.Source
}

// New creates the sources of all methods. It sends no requests, but it checks whether
// the plugin directories exist.
func New(o Options) (*Installation, error) {
	i := &Installation{block: o.Config.Installation}
	methods := implicit(o.PluginDirs)
	if i.block != nil {
		methods = i.block.Methods
	}
	var local []provider.Source
	for _, m := range methods {
		src, err := o.source(m)
		if err != nil {
			return nil, err
		}
		added := &method{Method: m, source: src}
		switch {
		case i.block != nil:
		case m.Kind == cliconfig.FilesystemMirror:
			local = append(local, src)
		default:
			added.unless = local
		}
		i.methods = append(i.methods, added)
	}
	return i, nil
}

// implicit returns the methods that apply if the configuration has no
// provider_installation block.
func implicit(dirs []string) []cliconfig.Method {
	var methods []cliconfig.Method
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			methods = append(methods, cliconfig.Method{Kind: cliconfig.FilesystemMirror, Path: dir})
		}
	}
	return append(methods, cliconfig.Method{Kind: cliconfig.Direct})
}

// source returns the source of the releases that a method installs.
func (o Options) source(m cliconfig.Method) (provider.Source, error) {
	switch m.Kind {
	case cliconfig.Direct:
		if o.Direct == nil {
			return nil, errors.New("the installation method direct is not supported: Options.Direct is nil")
		}
		return o.Direct, nil
	case cliconfig.FilesystemMirror:
		return filesystem.New(m.Path), nil
	case cliconfig.OCIMirror:
		if o.OCI == nil {
			return nil, errors.New("the installation method oci_mirror is not supported: Options.OCI is nil")
		}
		return o.OCI(m.Template), nil
	case cliconfig.NetworkMirror:
		if o.Network == nil {
			return nil, errors.New("the installation method network_mirror is not supported: Options.Network is nil")
		}
		return o.Network(m.URL)
	}
	return nil, fmt.Errorf("unknown installation method %q", m.Kind)
}
