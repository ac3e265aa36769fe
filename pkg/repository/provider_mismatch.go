package repository

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ProviderMismatchError reports that a tag points to a different provider than
// expected, or to no provider. If a module is expected, it reports that the tag doesn't
// point to a module.
type ProviderMismatchError struct {
	Tag string
	// Wanted is the expected provider.
	Wanted provider.Address
	// Provider is the address in the annotation of the artifact. It can be invalid.
	Provider string
	// Title is the name of a package of a different provider type. It is set only if the
	// artifact has no annotation.
	Title string
	// Format is the reason the tag doesn't point to the expected kind of content, which
	// is a provider or a module. It is nil if the kind is as expected.
	Format error
}

func (e *ProviderMismatchError) Error() string {
	switch {
	case e.Format != nil && e.Wanted.IsModule():
		return fmt.Sprintf("tag %s does not point to a module: %v", e.Tag, e.Format)
	case e.Format != nil:
		return fmt.Sprintf("tag %s does not point to a provider: %v", e.Tag, e.Format)
	case e.Title != "":
		return fmt.Sprintf("tag %s points to a release with %s, which is not a package of %s", e.Tag, e.Title, e.Wanted)
	}
	stored, err := provider.ParseAddress(e.Provider)
	if err != nil {
		return fmt.Sprintf("tag %s points to a release with the invalid provider address %q, want %s", e.Tag, line(e.Provider), e.Wanted)
	}
	return fmt.Sprintf("tag %s points to provider %s, not %s", e.Tag, stored, e.Wanted)
}

// Kind returns [provider.Conflict].
func (e *ProviderMismatchError) Kind() provider.ErrorKind { return provider.Conflict }

// Unwrap returns Format.
func (e *ProviderMismatchError) Unwrap() error { return e.Format }

// Alias returns the alias that would allow the tag. ok is false if no alias can allow
// it.
func (e *ProviderMismatchError) Alias() (alias provider.Alias, ok bool) {
	stored, err := provider.ParseAddress(e.Provider)
	if err != nil {
		return provider.Alias{}, false
	}
	alias, err = provider.ParseAlias(e.Wanted.String() + "=" + stored.String())
	return alias, err == nil
}

// CheckProvider returns a *[ProviderMismatchError] if the tag points to neither the
// given provider nor a provider that an alias allows instead. It accepts missing tags,
// dangling tags, and releases without a provider annotation. OpenTofu ignores the
// annotation and uses only the name of the repository. For the address of a module,
// CheckProvider accepts any module.
func (i Inspection) CheckProvider(a provider.Address, aliases ...provider.Alias) error {
	if err := i.CheckFormat(a); err != nil {
		return &ProviderMismatchError{Tag: i.Tag, Wanted: a, Format: err}
	}
	if a.IsModule() {
		return nil
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

// Provider returns the address in the provider annotation. If the annotation is missing
// or invalid, it returns the zero value.
func (i Inspection) Provider() provider.Address {
	a, err := provider.ParseAddress(i.Index.Annotations[artifact.AnnotationProvider])
	if err != nil {
		return provider.Address{}
	}
	return a
}

// CheckOwner returns a *[ProviderMismatchError] if the newest release in a repository
// belongs to a different provider. Two providers in one repository would overwrite each
// other's versions, and OpenTofu would install one instead of the other. CheckOwner
// uses the annotation or, if the annotation is missing, the name of a package. If the
// repository has no releases, CheckOwner checks the newest pending release or, without
// pending releases, the newest pruned release. If the repository doesn't list its tags,
// CheckOwner returns nil.
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
	if a.IsModule() && err == nil {
		return i.CheckProvider(a)
	}
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
