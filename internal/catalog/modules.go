package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// ModuleEntry is a repository with a module.
type ModuleEntry struct {
	Reference template.Reference
	// Address is the module's address in its registry, from the annotation of the
	// newest release. It is empty if the module was not mirrored from a registry.
	Address string
	// Latest is the newest version.
	Latest provider.Version
}

// ModuleOptions configures [Modules]. Open is required.
type ModuleOptions struct {
	// Names lists a registry's repositories, like [repository.Catalog].
	Names func(ctx context.Context, at template.Reference) ([]string, error)
	// Open opens a repository.
	Open func(template.Reference) (repository.Reader, error)
}

// Modules returns the modules in a template's repositories, sorted by repository. It
// also returns the matching repositories that can't be read, at most 2000. It omits
// repositories without versions and repositories with other content. Modules returns
// the same errors as [List].
func Modules(ctx context.Context, t template.ModuleTemplate, o ModuleOptions) (modules []ModuleEntry, unknown []template.Reference, err error) {
	if !t.Invertible() {
		return nil, nil, fmt.Errorf("listing the modules of %q: %w", t.Redacted(), ErrTemplate)
	}
	refs, err := references(ctx, modulePattern(t), o.Names)
	if err == nil && len(refs) > maxOwners {
		err = fmt.Errorf("listing the modules of %q: %d repositories exceed the limit of %d", t.Redacted(), len(refs), maxOwners)
	}
	if err != nil {
		return nil, nil, err
	}
	found, failed := make([]*ModuleEntry, len(refs)), make([]error, len(refs))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for n, ref := range refs {
		group.Go(func() error {
			found[n], failed[n] = moduleIn(groupCtx, ref, o)
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	for n, ref := range refs {
		if failed[n] != nil {
			unknown = append(unknown, ref)
		} else if found[n] != nil {
			modules = append(modules, *found[n])
		}
	}
	slices.SortFunc(modules, func(a, b ModuleEntry) int { return strings.Compare(a.Reference.String(), b.Reference.String()) })
	return modules, unknown, nil
}

// moduleIn returns the module in a repository, or nil if the repository's newest
// version is not a module.
func moduleIn(ctx context.Context, ref template.Reference, o ModuleOptions) (*ModuleEntry, error) {
	repo, err := o.Open(ref)
	if err != nil {
		return nil, err
	}
	tags, err := repo.Tags(ctx)
	versions := artifact.Tags(tags).Released()
	if err != nil || len(versions) == 0 {
		return nil, err
	}
	i, err := repository.Inspect(ctx, repo, artifact.Tag(versions[0]), repository.DepthIndex)
	if err != nil || !i.Module {
		return nil, err
	}
	return &ModuleEntry{ref, i.Index.Annotations[artifact.AnnotationModule], versions[0]}, nil
}

func modulePattern(t template.ModuleTemplate) pattern {
	return pattern{
		text: t.String(), redacted: t.Redacted(), isLayout: t.IsLayout(),
		example: func() (template.Reference, error) {
			return t.Repository(template.Module{Hostname: string(provider.DefaultHost), Namespace: "tofu", Name: "oci", System: "module"})
		},
		fits: func(ref template.Reference) bool {
			_, fits := t.Match(ref)
			return fits
		},
	}
}
