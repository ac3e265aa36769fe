package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Complete returns the addresses that start with the given word, of the providers in a
// template's repositories. If the word contains an address and "@", Complete instead
// returns the address with each released or pending version, newest first. It returns
// the errors from [List] and from the repository.
func Complete(ctx context.Context, t template.Template, word string, o Options) (found []string, err error) {
	if name, _, hasVersion := strings.Cut(word, "@"); hasVersion {
		found, err = versions(ctx, t, name, o)
	} else {
		var l Listing
		l, err = List(ctx, t, o)
		for _, e := range l.Entries {
			found = append(found, strings.TrimPrefix(e.Address.String(), string(provider.DefaultHost)+"/"))
		}
	}
	return slices.DeleteFunc(found, func(s string) bool { return !strings.HasPrefix(s, word) }), err
}

// versions returns a provider's address with each of its versions.
func versions(ctx context.Context, t template.Template, name string, o Options) ([]string, error) {
	a, err := provider.ParseAddress(name)
	if err != nil {
		return nil, err
	}
	ref, err := t.Repository(a)
	if err != nil {
		return nil, err
	}
	repo, err := o.Open(ref)
	if err != nil {
		return nil, err
	}
	tags, err := repo.Tags(ctx)
	found := text.Strings(slices.Concat(artifact.Tags(tags).Released(), artifact.Tags(tags).Undecided()))
	for i, v := range found {
		found[i] = name + "@" + v
	}
	return found, err
}
