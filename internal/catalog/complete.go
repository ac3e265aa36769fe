package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// maxVersions is the maximum number of versions that [CompleteVersions] returns. It is
// smaller than the number from which shells ask whether to show all completions.
const maxVersions = 50

// Complete returns the addresses of providers in a template's repositories that start
// with the given word. It returns the errors from [List].
func Complete(ctx context.Context, t template.Template, word string, o Options) (found []string, err error) {
	l, err := List(ctx, t, o)
	for _, e := range l.Entries {
		found = append(found, shortAddress(e.Address.String()))
	}
	return startingWith(word, found), err
}

// CompleteModules returns the modules in a template's repositories that start with the
// given word. A module is an address or, if the address is unknown, a reference.
// CompleteModules returns the errors from [Modules].
func CompleteModules(ctx context.Context, t template.ModuleTemplate, word string, o Options) (found []string, err error) {
	modules, _, err := Modules(ctx, t, o)
	for _, m := range modules {
		name := shortAddress(m.Address)
		switch {
		case name != "":
		case m.Reference.IsLayout():
			name = m.Reference.String()
		default:
			name = modulePrefix + m.Reference.String()
		}
		found = append(found, name)
	}
	return startingWith(word, found), err
}

// CompleteVersions returns the released versions in a repository, newest first. If
// pending is set, the pending versions precede them. word is a provider or module, "@",
// and the start of a version. Each result also contains the provider or module.
// CompleteVersions returns at most 50 versions, and the error from the repository. It
// reads only the list of tags.
func CompleteVersions(ctx context.Context, repo repository.Reader, word string, pending bool) (found []string, err error) {
	name, _, _ := strings.Cut(word, "@")
	tags, err := repo.Tags(ctx)
	versions := artifact.Tags(tags).Released()
	if pending {
		versions = slices.Concat(artifact.Tags(tags).Undecided(), versions)
	}
	for _, v := range versions {
		found = append(found, name+"@"+v.String())
	}
	found = startingWith(word, found)
	return found[:min(len(found), maxVersions)], err
}

// shortAddress returns an address without the default host.
func shortAddress(address string) string {
	return strings.TrimPrefix(address, string(provider.DefaultHost)+"/")
}

func startingWith(word string, all []string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, word) })
}
