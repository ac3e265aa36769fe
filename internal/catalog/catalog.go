// Package catalog lists the providers in the repositories of a template: in image layouts
// below a directory, in the repositories that a registry lists or, for registries without a
// list, in a file.
//
// Because most templates don't contain the host, List reads the owner of a repository if
// its name doesn't determine the provider.
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
	// maxOwners is the maximum number of repositories whose owner is read. For the other
	// repositories, the address is derived from the name, if possible.
	maxOwners = 2000
	// maxReads is the maximum number of concurrent reads.
	maxReads = 16
)

// Entry is a provider and its repository.
type Entry struct {
	Address   provider.Address
	Reference template.Reference
	// Stated reports whether the address is known from the name of the repository, the
	// annotation of its newest release, or Options.Named. Otherwise, its host is a guess.
	Stated bool
}

// Listing is the result of [List].
type Listing struct {
	// Entries has one entry per address, sorted by address.
	Entries []Entry
	// Unknown lists the repositories that match the template, but whose provider is
	// unknown. Most of them don't contain providers.
	Unknown []template.Reference
}

// Options configures [List]. The zero value lists only image layouts, by their paths.
type Options struct {
	// Names lists the repositories of a registry, like [repository.Catalog]. If nil,
	// registries list no repositories.
	Names func(ctx context.Context, at template.Reference) ([]string, error)
	// Owner returns the provider of a repository, like [Owner]. ok is false if it is
	// unknown. If nil, only names are used.
	Owner func(ctx context.Context, ref template.Reference) (a provider.Address, ok bool, err error)
	// Named lists the providers of templates for registries. If it is not nil, registries
	// are not contacted.
	Named []provider.Address
}

// ErrTemplate is returned if the repositories of a template can't be listed, because a
// repository does not determine the address.
var ErrTemplate = provider.Errorf(provider.Misuse, "the template contains more than text and variables")

// List returns the providers in the repositories of a template. It returns [ErrTemplate],
// an error of Names, the error of a canceled context, an error of the file system if the
// directory of layouts can't be read, or [repository.ErrNoRepository] if it doesn't exist.
// If Owner fails for a repository, its address is derived from its name.
func List(ctx context.Context, t template.Template, o Options) (Listing, error) {
	// 1. The repositories that match the template.
	if !t.IsLayout() && o.Named != nil {
		return named(t, o.Named), nil
	}
	if !t.Invertible() {
		return Listing{}, fmt.Errorf("listing the providers of %q: %w", t.Redacted(), ErrTemplate)
	}
	refs, err := references(ctx, t, o)
	if err != nil {
		return Listing{}, err
	}
	// 2. Their providers.
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

// named returns the entries of the given addresses.
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

// references lists the repositories that match the template.
func references(ctx context.Context, t template.Template, o Options) ([]template.Reference, error) {
	if t.IsLayout() {
		return layouts(ctx, t)
	}
	if o.Names == nil {
		return nil, nil
	}
	probe := provider.Address{Host: provider.DefaultHost, Namespace: "tofu", Type: "oci"}
	at, err := t.Repository(probe)
	if err != nil {
		return nil, err
	}
	names, err := o.Names(ctx, at)
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
		if _, fits := t.Match(ref); fits && !seen[ref] {
			seen[ref], refs = true, append(refs, ref)
		}
	}
	return refs, nil
}

// owners returns the provider of each repository; the address is zero if it is unknown.
func owners(ctx context.Context, t template.Template, refs []template.Reference, o Options) ([]Entry, error) {
	hostname, _, _ := t.Uses()
	found := make([]Entry, len(refs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	read := 0
	for i, ref := range refs {
		candidates, _ := t.Match(ref)
		found[i].Reference = ref
		if len(candidates) == 1 {
			found[i] = Entry{candidates[0], ref, hostname}
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

// Owner returns the provider of a repository: the address in the annotation of its newest
// release or, without releases, of its newest pending or pruned one. ok is false if there is
// no release, or if the release has no annotation because another tool wrote it.
func Owner(ctx context.Context, repo repository.Reader) (a provider.Address, ok bool, err error) {
	tags, err := repo.Tags(ctx)
	if err != nil {
		return provider.Address{}, false, err
	}
	versions, tag := artifact.Tags(tags).Newest()
	if len(versions) == 0 {
		return provider.Address{}, false, nil
	}
	i, err := repository.Inspect(ctx, repo, tag(versions[0]), repository.DepthIndex)
	if err != nil {
		return provider.Address{}, false, err
	}
	a, err = provider.ParseAddress(i.Index.Annotations[artifact.AnnotationProvider])
	return a, err == nil, nil
}
