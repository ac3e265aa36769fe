package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
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

// Modules returns the modules in a template's repositories, sorted by repository. It
// also returns the matching repositories that can't be read. It omits repositories with
// other content and, unless o.Unreleased is set, repositories without released
// versions. Modules returns the errors from [List], and an error if more than 2000
// repositories match.
func Modules(ctx context.Context, t template.ModuleTemplate, o Options) (modules []ModuleEntry, unknown []template.Reference, err error) {
	if !t.Invertible() {
		return nil, nil, fmt.Errorf("listing the modules in %q: %w", t.Redacted(), ErrTemplate)
	}
	refs, err := references(ctx, modulePattern(t), o.Names)
	if err == nil && len(refs) > maxOwners {
		err = fmt.Errorf("listing the modules in %q: %d repositories exceed the limit of %d", t.Redacted(), len(refs), maxOwners)
	}
	if err != nil {
		return nil, nil, err
	}
	found, failed := make([]*ModuleEntry, len(refs)), make([]error, len(refs))
	err = schedule.All(ctx, maxReads, refs, func(ctx context.Context, n int, ref template.Reference) error {
		found[n], failed[n] = moduleIn(ctx, ref, o)
		return ctx.Err()
	})
	if err != nil {
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
func moduleIn(ctx context.Context, ref template.Reference, o Options) (*ModuleEntry, error) {
	repo, err := o.Open(ref)
	if err != nil {
		return nil, err
	}
	repo = repository.ModuleReader(repo)
	tags, err := repo.Tags(ctx)
	versions, tag := artifact.Tags(tags).Released(), artifact.Tag
	if len(versions) == 0 && o.Unreleased {
		versions, tag = artifact.Tags(tags).Newest()
	}
	if err != nil || len(versions) == 0 {
		return nil, err
	}
	i, err := repository.Inspect(ctx, repo, tag(versions[0]), repository.DepthIndex)
	if err != nil || !i.Module {
		return nil, err
	}
	return &ModuleEntry{ref, i.Index.Annotations[artifact.AnnotationModule], versions[0]}, nil
}

// modulePrefix is the prefix of references to modules in registries.
const modulePrefix = "oci://"

// ParseModules parses a reference with variables, such as
// "oci://ghcr.io/acme/modules/{namespace}/{name}/{system}". This reference selects all
// modules in the template's repositories. For other references, isTemplate is false.
func ParseModules(reference string) (t template.ModuleTemplate, isTemplate bool, err error) {
	text, isRegistry := strings.CutPrefix(reference, modulePrefix)
	if !strings.Contains(text, "{") || !isRegistry && !strings.HasPrefix(text, "oci-layout:") {
		return t, false, nil
	}
	t, err = template.ParseModule(text)
	return t, true, err
}

// ExpandModules replaces each reference that contains variables with the modules in its
// repositories. It also includes the repositories that can't be read, so that the
// caller gets the error when it reads them. If a template has no repositories with
// modules, the error is [provider.ErrProviderNotFound].
func ExpandModules(ctx context.Context, wanted []provider.Requirement, o Options) (all []provider.Requirement, err error) {
	for _, r := range wanted {
		t, isTemplate, err := ParseModules(r.Address.Type)
		if err != nil {
			return nil, err
		}
		if !isTemplate {
			all = append(all, r)
			continue
		}
		modules, refs, err := Modules(ctx, t, o)
		if err != nil {
			return nil, err
		}
		for _, m := range modules {
			refs = append(refs, m.Reference)
		}
		if len(refs) == 0 {
			return nil, provider.Errorf(provider.NotFound, "no modules in the repositories of %s", t.Redacted())
		}
		for _, ref := range refs {
			text := ref.String()
			if !ref.IsLayout() {
				text = modulePrefix + text
			}
			all = append(all, provider.Requirement{Address: provider.ModuleAddress(text)})
		}
	}
	return all, nil
}

// ModuleTarget returns the repository to which a module is copied. If to is a template,
// ModuleTarget takes the values of its variables from the first template in sources
// that matches the repository from.
func ModuleTarget(to string, sources []string, from template.Reference) (template.Reference, error) {
	t, isTemplate, err := ParseModules(modulePrefix + strings.TrimPrefix(to, modulePrefix))
	if !isTemplate {
		return template.ParseReference(strings.TrimPrefix(to, modulePrefix))
	}
	for _, source := range sources {
		if s, is, _ := ParseModules(source); err == nil && is {
			if modules, _ := s.Match(from); len(modules) == 1 {
				return t.Repository(modules[0])
			}
		}
	}
	if err == nil {
		err = provider.Errorf(provider.Misuse, "the values of the template variables are unknown; specify the modules with a template that contains {namespace}, {name}, and {system}")
	}
	return template.Reference{}, err
}

func modulePattern(t template.ModuleTemplate) pattern {
	return pattern{
		text: t.String(), redacted: t.Redacted(), isLayout: t.IsLayout(),
		example: func() (template.Reference, error) {
			return t.Repository(provider.Address{Host: provider.DefaultHost, Namespace: "tofu", Type: "oci/module"})
		},
		fits: func(ref template.Reference) bool {
			_, fits := t.Match(ref)
			return fits
		},
	}
}
