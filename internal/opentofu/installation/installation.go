// Package installation is where OpenTofu's CLI configuration says that providers
// come from: a source of releases that asks the methods of the configuration as
// OpenTofu would, and the way from an address to the repository that an
// oci_mirror has for it.
//
// Use it where your program is to find providers where OpenTofu on the same
// machine would. Where you know the place, use a source of package source.
//
// The rules, which are those of OpenTofu's MultiSource and the sources below it:
//
//   - Versions are those of all methods that are for the provider. A method that
//     does not know it adds none; any other error ends the search.
//   - A package comes from the first method that has it. A method is passed over
//     when it lacks the platform; direct and filesystem_mirror also when they
//     lack the version or do not know the provider. An oci_mirror that lacks
//     either, and every other error, ends the search.
//   - Without a provider_installation block there are OpenTofu's plugin
//     directories, as far as they exist, and then direct for all providers of
//     which those have nothing.
package installation

import (
	"errors"
	"fmt"
	"os"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/filesystem"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Options say what an [Installation] is made of.
type Options struct {
	// Config is the configuration. Only its Installation counts here.
	Config cliconfig.Config
	// PluginDirs are the directories that count without a provider_installation
	// block, see [cliconfig.Environment.PluginDirs].
	PluginDirs []string
	// Direct is the source of releases at their origin registries. Needed where
	// a method is direct, as it is without a block.
	Direct provider.Source
	// OCI makes the source of the repositories that a template names. Needed
	// where a method is an oci_mirror.
	OCI func(template.Template) provider.Source
}

// Installation resolves providers as the CLI configuration says. It is a
// [provider.Source], safe for concurrent use, and like every one it lives for
// one run.
type Installation struct {
	block   *cliconfig.Installation
	methods []*method
}

var _ provider.Capable = (*Installation)(nil)

// method is an installation method and what answers for it.
type method struct {
	cliconfig.Method
	source provider.Source
	// unless: the method is not for providers that one of these sources has.
	unless []provider.Source
}

// New makes the sources of all methods; nothing is asked yet but whether the
// plugin directories exist.
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

// implicit returns the methods that count without a provider_installation block.
func implicit(dirs []string) []cliconfig.Method {
	var methods []cliconfig.Method
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			methods = append(methods, cliconfig.Method{Kind: cliconfig.FilesystemMirror, Path: dir})
		}
	}
	return append(methods, cliconfig.Method{Kind: cliconfig.Direct})
}

// source makes the source of a method.
func (o Options) source(m cliconfig.Method) (provider.Source, error) {
	switch m.Kind {
	case cliconfig.Direct:
		if o.Direct == nil {
			return nil, errors.New("the installation method direct needs a source of origin registries, and none was given")
		}
		return o.Direct, nil
	case cliconfig.FilesystemMirror:
		return filesystem.New(m.Path), nil
	case cliconfig.OCIMirror:
		if o.OCI == nil {
			return nil, errors.New("the installation method oci_mirror needs a source of repositories, and none was given")
		}
		return o.OCI(m.Template), nil
	case cliconfig.NetworkMirror:
		return unsupported{m}, nil
	}
	return nil, fmt.Errorf("there is no installation method %q", m.Kind)
}
