package exec

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// userConfig is the user's CLI configuration as the child would read it.
type userConfig struct {
	env   cliconfig.Environment
	files cliconfig.Files
	cliconfig.Config
	// dir is the absolute working directory of the child.
	dir string
	// load reads the root module's configuration. required loads it only once.
	load, required func() (configuration.Configuration, error)
}

func readConfiguration(ctx context.Context, o Options) (c userConfig, err error) {
	c.env = o.Environment
	c.env.Terraform = toolOf(o.Command) == toolTerraform
	if c.dir, err = filepath.Abs(WorkDir(o.Command, o.Dir, c.env.Getenv)); err != nil {
		return c, err
	}
	c.load = func() (configuration.Configuration, error) {
		return configuration.Load(ctx, c.dir, o.Reading(c.env.Terraform))
	}
	c.required = sync.OnceValues(c.load)
	if c.files, err = cliconfig.Locate(c.env, o.Config); err != nil {
		return c, err
	}
	c.Config, err = cliconfig.Read(c.env, c.files)
	return c, err
}

// hasOCI reports whether the configuration has blocks for OCI registries.
func (c userConfig) hasOCI() bool {
	mirrors := c.Installation != nil && slices.ContainsFunc(c.Installation.Methods, func(m cliconfig.Method) bool { return m.Kind == cliconfig.OCIMirror })
	return mirrors || len(c.Logins) > 0 || c.DefaultLogins.Position != (stricthcl.Position{})
}

// hasOCIMirror reports whether an oci_mirror block matches a provider.
func (c userConfig) hasOCIMirror(a provider.Address) bool {
	return c.Installation != nil && slices.ContainsFunc(c.Installation.Methods, func(m cliconfig.Method) bool {
		matches, _ := m.Match(a)
		return matches && m.Kind == cliconfig.OCIMirror
	})
}

// write writes the child's CLI configuration to a temporary file in the store. Only the
// user can read the file. If oci is set, the file includes the blocks for OCI
// registries.
func (c userConfig) write(o Options, m mirrored, oci bool) (path string, err error) {
	mirrored := cliconfig.RewriteOptions{
		Dir: m.Dir(), Providers: m.providers, WorkDir: c.dir, OCI: oci,
		Only: o.OnlyLocked, Left: m.left,
	}
	if o.Offline != nil {
		mirrored.Modules = o.Offline.Modules
	}
	text, err := cliconfig.Rewrite(c.env, c.files, mirrored)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(o.Store.Dir(), atomicfile.TemporaryPattern)
	if err != nil { // for example, if the store is read-only
		f, err = os.CreateTemp("", atomicfile.TemporaryPattern)
	}
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
