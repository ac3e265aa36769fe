package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// checkSource returns an error if the source isn't a complete release of the expected
// provider.
func (c *copier) checkSource(i Inspection) error {
	if err := i.absence(); err != nil {
		return err
	}
	if c.options.Provider == (provider.Address{}) && i.Module {
		c.options.Provider = provider.ModuleAddress(c.from.String())
	}
	if err := i.CheckFormat(c.options.Provider); err != nil {
		return err
	}
	c.result.Source, c.result.Digest = i.Digest, i.Digest
	if c.options.Provider != (provider.Address{}) {
		if err := i.CheckProvider(c.options.Provider, c.options.Aliases...); err != nil {
			return fmt.Errorf("source: %w", err)
		}
	}
	for _, platform := range i.Index.Platforms() {
		if err := i.Platforms[platform].Err; err != nil {
			return fmt.Errorf("manifest for %s: %w", platform, err)
		}
	}
	c.describe(i)
	return nil
}

// describe adds the source's packages and documents to the result.
func (c *copier) describe(i Inspection) {
	a := c.owner(i)
	v, _ := artifact.ParseTag(i.Tag)
	c.packages = map[digest.Digest]provider.Package{}
	for _, platform := range i.Index.Platforms() {
		f := i.Platforms[platform]
		p := f.Package(a, v)
		c.packages[p.Digest] = p
		for _, layer := range f.Manifest.Documents {
			d := artifact.DocumentOf(layer, provider.SumsName(a, v))
			isSame := func(other provider.Document) bool { return other.Name == d.Name && other.Digest == d.Digest }
			if d.Scope == provider.ScopePackage {
				p.Documents = append(p.Documents, d)
			} else if !slices.ContainsFunc(c.result.Documents, isSame) {
				c.result.Documents = append(c.result.Documents, d)
			}
		}
		c.result.Packages = append(c.result.Packages, CopiedPackage{Package: p})
	}
}

// owner returns the expected provider of the release. If neither the options nor an
// annotation specify it, owner returns the zero value.
func (c *copier) owner(release Inspection) provider.Address {
	if owner := c.options.Provider; owner != (provider.Address{}) {
		return owner
	}
	return release.Provider()
}

// checkTarget inspects the target's tag and decides whether to move the tag. Unless
// Force is set, checkTarget returns an error if the tag belongs to a different provider
// or if moving the tag would lose content.
func (c *copier) checkTarget(ctx context.Context, release Inspection) (existing Inspection, err error) {
	existing, err = Inspect(ctx, c.to, release.Tag, DepthManifests)
	if err != nil {
		return existing, err
	}
	c.result.Was = existing.Digest
	if existing.Digest == release.Digest {
		c.result.Repaired = existing.Dangling
		if c.options.Reread && !existing.Dangling {
			c.damagedTarget, err = existing.InspectMore(ctx, c.to, DepthContent)
		}
		return existing, err
	}
	d, err := c.compareTarget(ctx, release, existing)
	if reasons := d.Reasons(); err == nil && len(reasons) > 0 && (!d.isKept() || len(d.Conflicts) > 0) {
		err = &ConflictError{Release: c.name(release), Reasons: reasons}
	}
	if err == nil && existing.Exists() && d.isKept() && !c.options.Force {
		return c.keepTarget(ctx, existing, d)
	}
	if err == nil || isRefusal(err) && c.options.Force {
		c.result.Forced = err != nil || existing.Exists() && d.isKept()
		c.result.Repaired = d.Repairs && !c.result.Forced
		return existing, nil
	}
	c.result.Digest = existing.Digest
	return existing, err
}

// compareTarget returns the difference between the source's release and the existing
// release. If the target belongs to a different provider, it returns a
// *[ProviderMismatchError].
func (c *copier) compareTarget(ctx context.Context, release, existing Inspection) (Difference, error) {
	if err := existing.CheckFormat(c.options.Provider); err != nil {
		return Difference{}, &ProviderMismatchError{Tag: existing.Tag, Wanted: c.options.Provider, Format: err}
	}
	if owner := c.owner(release); owner != (provider.Address{}) {
		err := existing.CheckProvider(owner, c.options.Aliases...)
		if !existing.Exists() && !c.options.Force {
			err = CheckOwner(ctx, c.to, owner, c.options.Aliases...)
		}
		if err != nil {
			return Difference{}, err
		}
	}
	return Compare(release, existing), nil
}

// keepTarget keeps the existing index if all of its content is intact. Otherwise, Copy
// replaces the index with the source's index. If the replacement would lose content,
// keepTarget returns a *[ConflictError].
func (c *copier) keepTarget(ctx context.Context, existing Inspection, d Difference) (Inspection, error) {
	depth := DepthBlobs
	if c.options.Reread {
		depth = DepthContent
	}
	whole, err := existing.InspectMore(ctx, c.to, depth)
	if err != nil {
		return existing, err
	}
	for platform, f := range whole.Platforms {
		if !f.IsIntact() {
			if len(d.Loses) > 0 {
				return existing, &ConflictError{Release: c.name(whole), Reasons: append(d.Loses, fmt.Sprintf("existing package for %s is incomplete", platform))}
			}
			c.result.Repaired, c.damagedTarget = true, whole
			return existing, nil
		}
	}
	c.result.Kept, c.result.Digest = true, existing.Digest
	return existing, nil
}

// name returns the provider and version of a release.
func (c *copier) name(i Inspection) string {
	a := i.Index.Annotations[artifact.AnnotationProvider]
	if c.options.Provider != (provider.Address{}) {
		a = c.options.Provider.String()
	}
	return strings.TrimSpace(a + " " + i.Index.Annotations[ocispec.AnnotationVersion])
}

// isRefusal reports whether Force overrides err.
func isRefusal(err error) bool {
	_, conflict := errors.AsType[*ConflictError](err)
	_, foreign := errors.AsType[*ProviderMismatchError](err)
	return conflict || foreign
}

// checkSourceUnchanged returns [ErrTagMoved] if the source's tag has moved during the copy.
func (c *copier) checkSourceUnchanged(ctx context.Context, release Inspection) error {
	now, err := Inspect(ctx, c.from, release.Tag, DepthIndex)
	if err == nil && now.Digest != release.Digest {
		err = fmt.Errorf("during the copy, the tag %s:%s moved from %s to %s: %w", c.from, release.Tag, release.Digest, cmp.Or(now.Digest, "nothing"), ErrTagMoved)
	}
	return err
}
