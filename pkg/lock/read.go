package lock

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ReadOptions configures [ReadFile] and [ReadSelections]. The zero value selects
// OpenTofu's behavior.
type ReadOptions struct {
	// Configuration configures how the configurations in the directories of lock files
	// are read. If its field Terraform is set, lock files are interpreted as Terraform
	// does.
	Configuration configuration.Options
	// Requires, if not nil, reports whether a provider is required regardless of the
	// configuration.
	Requires func(provider.Address) bool
}

// ReadFile returns the selections in a lock file that OpenTofu uses, sorted by address.
// They can differ from the content of the file; see
// [lockfile.File.SelectionsForOpenTofu]. It returns the errors of [lockfile.Read].
func ReadFile(ctx context.Context, path string, o ReadOptions) ([]lockfile.Selection, error) {
	f, err := lockfile.Read(path)
	if err != nil {
		return nil, err
	}
	return o.selections(ctx, path, f), ctx.Err()
}

// ReadSelections returns the merged results of [ReadFile] for the lock files that names
// refer to. See [Find]. If the files lock no providers, it returns an error of the kind
// [provider.Misuse].
func ReadSelections(ctx context.Context, o ReadOptions, names ...string) (Selections, error) {
	paths, err := Find(ctx, names...)
	files := make([][]lockfile.Selection, len(paths))
	for i := 0; i < len(paths) && err == nil; i++ {
		files[i], err = ReadFile(ctx, paths[i], o)
	}
	if err != nil {
		return nil, err
	}
	all := Union(files...)
	if len(all) == 0 {
		return nil, provider.Errorf(provider.Misuse, "%s locks no providers", paths[0])
	}
	return all, nil
}

// selections returns the selections that OpenTofu uses or, if o selects it, Terraform.
// It loads the configuration only if it matters. A configuration that can't be read
// requires nothing.
func (o ReadOptions) selections(ctx context.Context, path string, f *lockfile.File) []lockfile.Selection {
	if o.Configuration.Terraform {
		return f.Selections()
	}
	load := sync.OnceValue(func() configuration.Configuration {
		c, _ := configuration.Load(ctx, filepath.Dir(path), o.Configuration)
		return c
	})
	return f.SelectionsForOpenTofu(func(a provider.Address) bool {
		return o.Requires != nil && o.Requires(a) || load().Requires(a)
	})
}
