// Package catalog finds which providers lie in the repositories of a template: in image
// layouts below a directory, in the repositories that a registry lists, or those that a
// file names where a registry lists none.
//
// Use it to show what a mirror holds, or to do something with all of it. What a
// repository's name says of its provider is checked against what it holds, since most
// templates leave the host out.
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
	// maxOwners bounds the repositories that are asked whose they are. A listing of more
	// goes by their names, where these say it.
	maxOwners = 2000
	// maxQuestions is how many are asked at once.
	maxQuestions = 16
)

// Entry is a provider, and the repository that its releases lie in.
type Entry struct {
	Address   provider.Address
	Reference template.Reference
	// Stated reports that the address is known: from the name of the repository, the
	// annotation of its newest release, or Options.Named. Otherwise its host is a guess.
	Stated bool
}

// Listing is what was found of a template.
type Listing struct {
	// Entries are sorted by address, one each.
	Entries []Entry
	// Unknown are repositories of the template's form that do not say whose they are,
	// in no name and no annotation. Most of them hold something else.
	Unknown []template.Reference
}

// Options of [List]. The zero value lists image layouts only, by their paths.
type Options struct {
	// Names lists the repositories of a registry, of which it is told one, as
	// [repository.Catalog] does. Nil is a registry that lists none.
	Names func(ctx context.Context, at template.Reference) ([]string, error)
	// Owner says whose releases lie in a repository, as [Owner] does of an opened one; ok
	// is false where it does not say. Nil goes by names alone.
	Owner func(ctx context.Context, ref template.Reference) (a provider.Address, ok bool, err error)
	// Named are the providers of templates for registries. When it is not nil, no
	// registry is asked for its repositories, and nothing whose they are.
	Named []provider.Address
}

// ErrTemplate is returned if the repositories of a template can't be listed, because a
// repository does not determine the address.
var ErrTemplate = provider.Errorf(provider.Misuse, "the template has more than text and variables")

// List finds the providers of a template. Errors are [ErrTemplate], those of the
// file system where the directory of layouts cannot be read, [repository.ErrNoRepository]
// beside where there is none, those of Names, and that of a
// context that ended. A repository that fails when it is asked whose it is goes by its
// name.
func List(ctx context.Context, t template.Template, o Options) (Listing, error) {
	// 1. Which repositories have the template's form.
	if !t.IsLayout() && o.Named != nil {
		return named(t, o.Named), nil
	}
	if !t.Invertible() {
		return Listing{}, fmt.Errorf("which providers %q is for cannot be found out: %w", t.Redacted(), ErrTemplate)
	}
	refs, err := references(ctx, t, o)
	if err != nil {
		return Listing{}, err
	}
	// 2. Whose they are.
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

// named returns the repositories of addresses.
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

func (l *Listing) sort() {
	slices.SortStableFunc(l.Entries, func(a, b Entry) int { return a.Address.Compare(b.Address) })
	l.Entries = slices.CompactFunc(l.Entries, func(a, b Entry) bool { return a.Address == b.Address })
}

// references lists the repositories that have the template's form.
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
		// A name that is none, such as one with a line break, is nothing to show.
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
	group.SetLimit(maxQuestions)
	asked := 0
	for i, ref := range refs {
		candidates, _ := t.Match(ref)
		found[i].Reference = ref
		if len(candidates) == 1 {
			found[i] = Entry{candidates[0], ref, hostname}
		}
		if o.Owner == nil || found[i].Stated {
			continue
		}
		if asked++; asked > maxOwners {
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
// release or, without releases, of its newest pending one. ok is false if there is neither,
// or if it has no annotation, as when another tool has written it.
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
