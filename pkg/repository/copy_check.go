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

// copyable refuses what is no whole release, or another provider's.
func (c *copier) checkSource(i Inspection) error {
	switch {
	case i.Dangling:
		return fmt.Errorf("the tag names an index that is lost: %w", ErrNotFound)
	case !i.Exists():
		return i.Absent
	case i.Format != nil:
		return i.Format
	}
	c.result.Source, c.result.Digest = i.Digest, i.Digest
	if c.options.Provider != (provider.Address{}) {
		if err := i.CheckProvider(c.options.Provider, c.options.Aliases...); err != nil {
			return fmt.Errorf("the source: %w", err)
		}
	}
	for _, platform := range i.Index.Platforms() {
		if err := i.Platforms[platform].Err; err != nil {
			return fmt.Errorf("the manifest for %s: %w", platform, err)
		}
	}
	c.describe(i)
	return nil
}

// describe lists the packages of the source, and their documents.
func (c *copier) describe(i Inspection) {
	a := c.options.Provider
	if a == (provider.Address{}) {
		a, _ = provider.ParseAddress(i.Index.Annotations[artifact.AnnotationProvider])
	}
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

// welcome looks at what the target has under the tag, and decides what becomes of it.
// Another provider is refused, and so is what would get lost, unless by force.
func (c *copier) checkTarget(ctx context.Context, release Inspection) (there Inspection, err error) {
	there, err = Inspect(ctx, c.to, release.Tag, DepthManifests)
	if err != nil {
		return there, err
	}
	c.result.Was = there.Digest
	if there.Digest == release.Digest {
		c.result.Repaired = there.Dangling
		return c.readTarget(ctx, there)
	}
	d, err := c.compareTarget(ctx, release, there)
	if reasons := d.Reasons(); err == nil && len(reasons) > 0 && (!d.isKept() || len(d.Conflicts) > 0) {
		err = &ConflictError{Release: c.name(release), Reasons: reasons}
	}
	if err == nil && there.Exists() && d.isKept() && !c.options.Force {
		return c.keepTarget(ctx, there, d)
	}
	if err == nil || isRefusal(err) && c.options.Force {
		c.result.Forced = err != nil || there.Exists() && d.isKept()
		c.result.Repaired = d.Repairs && !c.result.Forced
		return there, nil
	}
	c.result.Digest = there.Digest
	return there, err
}

// admit asks whose release lies under the target's tag, and in what it differs.
func (c *copier) compareTarget(ctx context.Context, release, there Inspection) (Difference, error) {
	if there.Format != nil {
		return Difference{}, &ProviderMismatchError{Tag: there.Tag, Wanted: c.options.Provider, Format: there.Format}
	}
	// A release that says nothing of its provider is taken as it is.
	owner := c.options.Provider
	if owner == (provider.Address{}) {
		owner, _ = provider.ParseAddress(release.Index.Annotations[artifact.AnnotationProvider])
	}
	if owner != (provider.Address{}) {
		err := there.CheckProvider(owner, c.options.Aliases...)
		if !there.Exists() && !c.options.Force {
			err = CheckOwner(ctx, c.to, owner, c.options.Aliases...)
		}
		if err != nil {
			return Difference{}, err
		}
	}
	return Compare(release, there), nil
}

// keep leaves the tag at the index that it has, if all that it needs is there. Else
// the source takes its place, unless something gets lost by that.
func (c *copier) keepTarget(ctx context.Context, there Inspection, d Difference) (Inspection, error) {
	whole, err := there.InspectMore(ctx, c.to, c.depth())
	if err != nil {
		return there, err
	}
	for platform, f := range whole.Platforms {
		if !f.IsIntact() {
			if len(d.Loses) > 0 {
				return there, &ConflictError{Release: c.name(whole), Reasons: append(d.Loses, fmt.Sprintf("what is there for %s is not whole", platform))}
			}
			c.result.Repaired, c.damagedTarget = true, whole
			return there, nil
		}
	}
	c.result.Kept, c.result.Digest = true, there.Digest
	return there, nil
}

// damaged reads the blobs of what is there, where that is wanted.
func (c *copier) readTarget(ctx context.Context, there Inspection) (Inspection, error) {
	if !c.options.Reread || there.Dangling {
		return there, nil
	}
	read, err := there.InspectMore(ctx, c.to, DepthContent)
	c.damagedTarget = read
	return there, err
}

func (c *copier) depth() Depth {
	if c.options.Reread {
		return DepthContent
	}
	return DepthBlobs
}

// name is that of a release, as people write it.
func (c *copier) name(i Inspection) string {
	a := i.Index.Annotations[artifact.AnnotationProvider]
	if c.options.Provider != (provider.Address{}) {
		a = c.options.Provider.String()
	}
	return strings.TrimSpace(a + " " + i.Index.Annotations[ocispec.AnnotationVersion])
}

// isRefusal knows what --force overrules.
func isRefusal(err error) bool {
	_, conflict := errors.AsType[*ConflictError](err)
	_, foreign := errors.AsType[*ProviderMismatchError](err)
	return conflict || foreign
}

// unmoved compares the source's tag with what was copied.
func (c *copier) checkSourceUnchanged(ctx context.Context, release Inspection) error {
	now, err := Inspect(ctx, c.from, release.Tag, DepthIndex)
	if err == nil && now.Digest != release.Digest {
		err = fmt.Errorf("%s:%s was moved while it was copied, from %s to %s: %w", c.from, release.Tag, release.Digest, cmp.Or(now.Digest, "nothing"), ErrTagMoved)
	}
	return err
}
