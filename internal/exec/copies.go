package exec

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// addCopies copies unpacked packages from the store to the data directory of tofu init
// and terraform init, because copying is faster than unpacking. The command compares
// the copies with the lock file and keeps them. From the mirror, it unpacks packages
// without a locked h1: hash and packages that can't be copied. If a package can't be
// copied and the problem persists, the command reports the problem. If the user has a
// plugin cache, the command creates links to the cache instead.
func (o Options) addCopies(ctx context.Context, c userConfig, packages []stored) {
	if !o.reportsEmptyDir() || !o.installs() || len(o.LockFiles) > 0 || c.PluginCacheDir != "" {
		return
	}
	packages = slices.DeleteFunc(slices.Clone(packages), func(p stored) bool { return !p.locksAll(lockfile.Hash(p.Unpacked)) })
	if len(packages) == 0 {
		return
	}
	data, err := c.openDataDir()
	if err != nil {
		return
	}
	defer data.Close()
	atomicfile.Sweep(data.Name())
	_ = schedule.All(ctx, o.Concurrency, packages, func(ctx context.Context, _ int, p stored) error {
		_ = o.addCopy(ctx, data, p)
		return nil
	})
}

// addCopy adds a package to the data directory unless its path exists.
// Temporary files are outside of the directory in which clients search for packages.
func (o Options) addCopy(ctx context.Context, data *os.Root, p stored) error {
	final, err := filepath.Localize(p.installPath())
	if err != nil {
		return err
	}
	if _, err := data.Lstat(final); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp, err := atomicfile.TempDir(data.Name())
	if err != nil {
		return err
	}
	defer atomicfile.DiscardDir(tmp) // cleans up after a failure
	if err := o.unpack(ctx, p, tmp); err != nil {
		return err
	}
	if err := data.MkdirAll(filepath.Dir(final), modeDirectory); err != nil {
		return err
	}
	return data.Rename(filepath.Base(tmp), final)
}

// unpack fills an empty directory with a copy from the store. If the store has only the
// zip, unpack unpacks the zip to the directory and adds a copy to the store. The files
// in the directory don't have to survive a system crash, just like files that the
// client unpacks itself, because the client verifies them.
func (o Options) unpack(ctx context.Context, p stored, dir string) error {
	if tree, ok := o.Store.Tree(ctx, p.Zip); ok {
		return errors.Join(tree.CopyTo(ctx, dir, false), tree.Close())
	}
	contents, err := packagezip.UnpackAny(ctx, func(ctx context.Context) (io.ReadCloser, error) {
		zip, ok := o.Store.Blob(ctx, p.Zip)
		if !ok {
			return nil, store.ErrNotCached
		}
		return zip.Verified(ctx, p.filename()), nil
	}, -1, dir, o.Store.Dir())
	if err == nil {
		o.Store.PutTree(ctx, p.Zip, store.Hashes{H1: contents.H1, Unpacked: contents.H1Unpacked}, dir)
	}
	return err
}

// modeDirectory is the mode of created directories. The umask applies.
const modeDirectory = 0o755

// dataDir returns the data directory of tofu and terraform. Relative paths are relative
// to the working directory.
func (c userConfig) dataDir() string { return cmp.Or(c.env.Getenv("TF_DATA_DIR"), ".terraform") }

// openDataDir opens the data directory and creates it if necessary. In the working
// directory, which can come from a Git repository, it doesn't follow links to other
// directories.
func (c userConfig) openDataDir() (*os.Root, error) {
	base, dir := c.dir, c.dataDir()
	if !filepath.IsLocal(dir) {
		base, dir = cliconfig.ResolvePath(base, dir), "."
		if err := os.MkdirAll(base, modeDirectory); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.MkdirAll(dir, modeDirectory); err != nil {
		return nil, err
	}
	return root.OpenRoot(dir)
}
