package repository

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ProviderMismatchError says that a tag holds another provider than the one that is wanted,
// or no provider at all.
type ProviderMismatchError struct {
	Tag string
	// Wanted is the provider that the tag was looked at for.
	Wanted provider.Address
	// Provider is the address that the artifact is annotated with. It may be no
	// address at all.
	Provider string
	// Title is the name of a package of another type, where only that tells.
	Title string
	// Format says what the tag holds when it is no provider.
	Format error
}

func (e *ProviderMismatchError) Error() string {
	switch {
	case e.Format != nil:
		return fmt.Sprintf("the tag %s holds something else: %v", e.Tag, e.Format)
	case e.Title != "":
		return fmt.Sprintf("the tag %s holds %s, which is no package of %s", e.Tag, e.Title, e.Wanted)
	}
	stored, err := provider.ParseAddress(e.Provider)
	if err != nil {
		return fmt.Sprintf("the tag %s holds the provider %q, which is no address, and not %s", e.Tag, line(e.Provider), e.Wanted)
	}
	return fmt.Sprintf("the tag %s holds the provider %s, not %s", e.Tag, stored, e.Wanted)
}

// Kind is [provider.Conflict].
func (e *ProviderMismatchError) Kind() provider.ErrorKind { return provider.Conflict }

// Unwrap returns the *[artifact.FormatError], if there is one.
func (e *ProviderMismatchError) Unwrap() error { return e.Format }

// Alias returns the alias with which the tag would be taken; ok is false when none
// allows that.
func (e *ProviderMismatchError) Alias() (alias provider.Alias, ok bool) {
	stored, err := provider.ParseAddress(e.Provider)
	if err != nil {
		return provider.Alias{}, false
	}
	alias, err = provider.ParseAlias(e.Wanted.String() + "=" + stored.String())
	return alias, err == nil
}

// CheckProvider refuses what is not of a provider, and not of one that an alias
// allows in its place: errors are *[ProviderMismatchError]. A tag that is not there, is
// lost, or says nothing of its provider passes. OpenTofu goes by the repository
// alone and does not read the annotation.
func (i Inspection) CheckProvider(a provider.Address, aliases ...provider.Alias) error {
	if i.Format != nil {
		return &ProviderMismatchError{Tag: i.Tag, Wanted: a, Format: i.Format}
	}
	stated := i.Index.Annotations[artifact.AnnotationProvider]
	if stated == "" {
		return nil
	}
	stored, err := provider.ParseAddress(stated)
	if err == nil && provider.Aliases(aliases).Allow(a, stored) {
		return nil
	}
	return &ProviderMismatchError{Tag: i.Tag, Wanted: a, Provider: stated}
}

// CheckOwner refuses a repository whose newest release is of another provider:
// two in one repository would overwrite each other's versions, and each is
// installed for the other. It goes by the annotation, without one by the name of a
// package. Where there is no release, one that waits for approval tells it. Errors are
// *[ProviderMismatchError], and those of the repository. One that does not list its tags is
// taken at the word of whoever names it.
func CheckOwner(ctx context.Context, repo Reader, a provider.Address, aliases ...provider.Alias) error {
	tags, err := repo.Tags(ctx)
	if isUnlisted(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for other releases in the repository: %w", err)
	}
	versions, tag := artifact.Tags(tags).Newest()
	if len(versions) == 0 {
		return nil
	}
	i, err := Inspect(ctx, repo, tag(versions[0]), DepthIndex)
	if err != nil || i.Format != nil {
		return err
	}
	if i.Index.Annotations[artifact.AnnotationProvider] != "" {
		return i.CheckProvider(a, aliases...)
	}
	if len(i.Index.Targets) == 0 {
		return nil
	}
	platform := i.Index.Targets[0].Platform
	if i, err = i.InspectMore(ctx, repo, DepthManifests, platform); err != nil || i.Platforms[platform].Err != nil {
		return err
	}
	named, wrong := errors.AsType[*provider.IdentityError](i.Platforms[platform].Package(a, versions[0]).CheckIdentity())
	if wrong && named.Type != a.Type {
		return &ProviderMismatchError{Tag: i.Tag, Wanted: a, Title: named.Name}
	}
	return nil
}
