package lock

import (
	"cmp"
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
// The selections can differ from the content of the file. See
// [lockfile.File.SelectionsForOpenTofu]. It returns the errors of [lockfile.Read]. If
// only some blocks are invalid, it also returns the selections in the others.
func ReadFile(ctx context.Context, path string, o ReadOptions) ([]lockfile.Selection, error) {
	f, err := lockfile.Read(path)
	if f == nil {
		return nil, err
	}
	return o.selections(ctx, path, f), cmp.Or(ctx.Err(), err)
}

// ReadSelections returns the merged results of [ReadFile] for the lock files that names
// refer to. See [Find]. It passes errors about single files to invalid. If no file locks
// a provider, it returns the first of these errors or, if all files are valid, an error
// of the kind [provider.Misuse].
func ReadSelections(ctx context.Context, o ReadOptions, invalid func(error), names ...string) (Selections, error) {
	paths, err := Find(ctx, names...)
	if err != nil {
		return nil, err
	}
	files := make([][]lockfile.Selection, len(paths))
	var problems []error
	for i, path := range paths {
		files[i], err = ReadFile(ctx, path, o)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	all := Union(files...)
	switch {
	case len(all) > 0:
	case len(problems) > 0:
		return nil, problems[0]
	default:
		return nil, provider.Errorf(provider.Misuse, "%s locks no providers", paths[0])
	}
	for _, err := range problems {
		invalid(err)
	}
	return all, nil
}

// selections returns the selections that OpenTofu or, if o specifies it, Terraform
// uses. It loads the configuration only if necessary. A configuration that can't be
// read requires nothing.
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
