package exec

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/pkg/cliconfig"
)

// configuration is the user's, as the child would read it.
type configuration struct {
	env   cliconfig.Environment
	files cliconfig.Files
	cliconfig.Config
	// dir is the directory that the child works in, absolute.
	dir string
}

func readConfiguration(o Options) (c configuration, err error) {
	c.env = o.Environment
	if c.env.Getenv == nil {
		c.env.Getenv = func(string) string { return "" }
	}
	c.env.Terraform = toolOf(o.Command) == toolTerraform
	if c.dir, err = filepath.Abs(WorkDir(o.Command, o.Dir, c.env.Getenv)); err != nil {
		return c, err
	}
	if c.files, err = cliconfig.Locate(c.env, o.Config); err != nil {
		return c, err
	}
	c.Config, err = cliconfig.Read(c.env, c.files)
	return c, err
}

// write writes what the child reads into a file that nobody else may read, in the
// store, which is swept.
func (c configuration) write(o Options, m mirrored) (path string, err error) {
	text, err := cliconfig.Rewrite(c.env, c.files, cliconfig.Mirrored{
		Dir: m.Dir(), Providers: m.providers, PluginCacheDir: m.pluginCacheDir(toolOf(o.Command)), WorkDir: c.dir,
	})
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(o.Store.Dir(), atomicfile.TemporaryPattern)
	if err != nil { // such as a store that may only be read
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
