// Package catalog lists the providers in a template's repositories. These are image
// layouts below a directory, or the repositories that a registry lists. Because some
// registries can't list repositories, a file can list the providers instead.
//
// Most templates don't contain the host. If a repository's name doesn't determine the
// provider, List reads the provider from the repository. This package calls the
// provider of a repository its owner.
package catalog

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	// maxOwners is the maximum number of repositories from which List reads the owner.
	// For all other repositories, it derives the address from the name, if possible.
	maxOwners = 2000
	// maxReads is the maximum number of concurrent reads.
	maxReads = 16
)

// Entry is a provider and its repository.
type Entry struct {
	Address   provider.Address
	Reference template.Reference
	// Stated reports whether the address is known from the repository's name, the
	// annotation of its newest release, or Options.Named. Otherwise, the address's host
	// is a guess.
	Stated bool
}

// Listing is the result of [List].
type Listing struct {
	// Entries contains one entry per address, sorted by address.
	Entries []Entry
	// Unknown contains the repositories that match the template, but whose provider is
	// unknown. Most of them don't contain providers.
	Unknown []template.Reference
}

// Options configures [List], [Complete], and [Modules]. With the zero value, only
// providers in image layouts are listed, and their addresses are derived from the
// layouts' paths.
type Options struct {
	// Names lists a registry's repositories, like [repository.Catalog]. If nil, no
	// repositories in registries are listed.
	Names func(ctx context.Context, at template.Reference) ([]string, error)
	// Open opens a repository. Complete and Modules require it.
	Open func(template.Reference) (repository.Reader, error)
	// Owner returns a repository's provider. If the provider is unknown, ok is false. If
	// Owner is nil, List calls Open and the function [ReadContent]. If Open is also nil, only
	// names are used.
	Owner func(ctx context.Context, ref template.Reference) (a provider.Address, ok bool, err error)
	// Named contains the providers for templates that refer to registries. If it is not
	// nil, registries are not contacted.
	Named []provider.Address
	// Unreleased specifies whether [Modules] includes modules without released
	// versions.
	Unreleased bool
}

// ErrTemplate means that a template's repositories can't be listed, because their names
// can't be mapped back to addresses.
var ErrTemplate = provider.Errorf(provider.Misuse, "the template contains expressions other than variables")

// List returns the providers in a template's repositories. It returns [ErrTemplate], an
// error from Names, or the error of a canceled context. If the directory of layouts
// can't be read, it returns a file system error. If the directory doesn't exist, it
// returns [repository.ErrNoRepository]. If Owner fails for a repository, List derives
// the address from the repository's name.
func List(ctx context.Context, t template.Template, o Options) (Listing, error) {
	// 1. List the repositories that match the template.
	if !t.IsLayout() && o.Named != nil {
		return named(t, o.Named), nil
	}
	if !t.Invertible() {
		return Listing{}, fmt.Errorf("listing the providers in %q: %w", t.Redacted(), ErrTemplate)
	}
	refs, err := references(ctx, providerPattern(t), o.Names)
	if err != nil {
		return Listing{}, err
	}
	// 2. Determine the repositories' providers.
	owners, err := owners(ctx, t, refs, o)
	if err != nil {
		return Listing{}, err
	}
	var l Listing
	for i, ref := range refs {
		if owners[i].Address == (provider.Address{}) {
			l.Unknown = append(l.Unknown, ref)
			continue
		}
		l.Entries = append(l.Entries, owners[i])
	}
	l.sort()
	return l, nil
}

// named returns the entries for the given addresses.
func named(t template.Template, as []provider.Address) Listing {
	var l Listing
	for _, a := range as {
		if ref, err := t.Repository(a); err == nil {
			l.Entries = append(l.Entries, Entry{a, ref, true})
		}
	}
	l.sort()
	return l
}

// Requirements returns a requirement without a constraint for each provider.
func (l *Listing) Requirements() []provider.Requirement {
	var all []provider.Requirement
	for _, e := range l.Entries {
		all = append(all, provider.Requirement{Address: e.Address})
	}
	return all
}

func (l *Listing) sort() {
	slices.SortStableFunc(l.Entries, func(a, b Entry) int { return a.Address.Compare(b.Address) })
	l.Entries = slices.CompactFunc(l.Entries, func(a, b Entry) bool { return a.Address == b.Address })
}

// pattern is a template for providers or modules.
type pattern struct {
	text, redacted string
	isLayout       bool
	// example returns a reference to an example repository.
	example func() (template.Reference, error)
	// fits reports whether a repository matches the template.
	fits func(template.Reference) bool
}

func providerPattern(t template.Template) pattern {
	return pattern{
		text: t.String(), redacted: t.Redacted(), isLayout: t.IsLayout(),
		example: func() (template.Reference, error) {
			return t.Repository(provider.Address{Host: provider.DefaultHost, Namespace: "tofu", Type: "oci"})
		},
		fits: func(ref template.Reference) bool {
			_, fits := t.Match(ref)
			return fits
		},
	}
}

// references lists the repositories that match the template.
func references(ctx context.Context, t pattern, list func(context.Context, template.Reference) ([]string, error)) ([]template.Reference, error) {
	if t.isLayout {
		return layouts(ctx, t)
	}
	if list == nil {
		return nil, nil
	}
	at, err := t.example()
	if err != nil {
		return nil, err
	}
	names, err := list(ctx, at)
	if err != nil {
		return nil, err
	}
	var refs []template.Reference
	seen := map[template.Reference]bool{}
	for _, name := range names {
		// Ignore invalid names, such as names with line breaks.
		ref, err := template.ParseReference(at.Registry + "/" + name)
		if err != nil || ref.Registry != at.Registry {
			continue
		}
		if t.fits(ref) && !seen[ref] {
			seen[ref], refs = true, append(refs, ref)
		}
	}
	return refs, nil
}

// owners returns each repository's provider. If the provider is unknown, the address is
// zero.
func owners(ctx context.Context, t template.Template, refs []template.Reference, o Options) ([]Entry, error) {
	if o.Owner == nil && o.Open != nil {
		o.Owner = func(ctx context.Context, ref template.Reference) (provider.Address, bool, error) {
			repo, err := o.Open(ref)
			if err != nil {
				return provider.Address{}, false, err
			}
			content, err := ReadContent(ctx, repo)
			a, ok := content.Owner()
			return a, ok, err
		}
	}
	found := make([]Entry, len(refs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	read := 0
	for i, ref := range refs {
		candidates, _ := t.Match(ref)
		found[i].Reference = ref
		if len(candidates) == 1 {
			found[i] = Entry{candidates[0], ref, t.UsesHostname()}
		}
		if o.Owner == nil || found[i].Stated {
			continue
		}
		if read++; read > maxOwners {
			continue
		}
		group.Go(func() error {
			a, ok, err := o.Owner(ctx, ref)
			if again, unfit := t.Repository(a); ok && err == nil && unfit == nil && again == ref {
				found[i] = Entry{a, ref, true}
			}
			return ctx.Err()
		})
	}
	return found, group.Wait()
}

// Content describes the newest content of a repository.
type Content struct {
	Tags artifact.Tags
	// Newest is the newest release or, if the repository has no releases, the newest
	// pending or pruned release. If there is none, it is the zero value.
	Newest repository.Inspection
}

// ReadContent reads the tags of a repository and the index of its newest release.
func ReadContent(ctx context.Context, repo repository.Reader) (c Content, err error) {
	tags, err := repo.Tags(ctx)
	c.Tags = tags
	if versions, tag := c.Tags.Newest(); err == nil && len(versions) > 0 {
		c.Newest, err = repository.Inspect(ctx, repo, tag(versions[0]), repository.DepthIndex)
	}
	return c, err
}

// Owner returns the address of the repository's provider from the annotation of the
// newest release. If the release has no annotation because another tool wrote it, ok is
// false.
func (c Content) Owner() (a provider.Address, ok bool) {
	a = c.Newest.Provider()
	return a, a != provider.Address{}
}
