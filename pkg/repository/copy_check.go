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
func (c *copier) copyable(i Inspection) error {
	switch {
	case i.Lost:
		return fmt.Errorf("the tag names an index that is lost: %w", ErrNotFound)
	case !i.Exists():
		return i.Absent
	case i.Format != nil:
		return i.Format
	}
	c.done.Source, c.done.Digest = i.Digest, i.Digest
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
			} else if !slices.ContainsFunc(c.done.Documents, isSame) {
				c.done.Documents = append(c.done.Documents, d)
			}
		}
		c.done.Packages = append(c.done.Packages, CopiedPackage{Package: p})
	}
}

// welcome looks at what the target has under the tag, and decides what becomes of it.
// Another provider is refused, and so is what would get lost, unless by force.
func (c *copier) welcome(ctx context.Context, release Inspection) (there Inspection, err error) {
	there, err = Inspect(ctx, c.to, release.Tag, DepthManifests)
	if err != nil {
		return there, err
	}
	c.done.Was = there.Digest
	if there.Digest == release.Digest {
		c.done.Repaired = there.Lost
		return c.damaged(ctx, there)
	}
	d, err := c.admit(ctx, release, there)
	if reasons := d.Reasons(); err == nil && len(reasons) > 0 && (!d.keeps() || len(d.Conflicts) > 0) {
		err = &ConflictError{Release: c.name(release), Reasons: reasons}
	}
	if err == nil && there.Exists() && d.keeps() && !c.options.Force {
		return c.keep(ctx, there, d)
	}
	if err == nil || isRefusal(err) && c.options.Force {
		c.done.Forced = err != nil || there.Exists() && d.keeps()
		c.done.Repaired = d.Repairs && !c.done.Forced
		return there, nil
	}
	c.done.Digest = there.Digest
	return there, err
}

// admit asks whose release lies under the target's tag, and in what it differs.
func (c *copier) admit(ctx context.Context, release, there Inspection) (Difference, error) {
	if there.Format != nil {
		return Difference{}, &ForeignError{Tag: there.Tag, Wanted: c.options.Provider, Format: there.Format}
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
func (c *copier) keep(ctx context.Context, there Inspection, d Difference) (Inspection, error) {
	whole, err := there.Deeper(ctx, c.to, c.depth())
	if err != nil {
		return there, err
	}
	for platform, f := range whole.Platforms {
		if !f.Whole() {
			if len(d.Loses) > 0 {
				return there, &ConflictError{Release: c.name(whole), Reasons: append(d.Loses, fmt.Sprintf("what is there for %s is not whole", platform))}
			}
			c.done.Repaired, c.lost = true, whole
			return there, nil
		}
	}
	c.done.Kept, c.done.Digest = true, there.Digest
	return there, nil
}

// damaged reads the blobs of what is there, where that is wanted.
func (c *copier) damaged(ctx context.Context, there Inspection) (Inspection, error) {
	if !c.options.Reread || there.Lost {
		return there, nil
	}
	read, err := there.Deeper(ctx, c.to, DepthContent)
	c.lost = read
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
	_, foreign := errors.AsType[*ForeignError](err)
	return conflict || foreign
}

// unmoved compares the source's tag with what was copied.
func (c *copier) unmoved(ctx context.Context, release Inspection) error {
	now, err := Inspect(ctx, c.from, release.Tag, DepthIndex)
	if err == nil && now.Digest != release.Digest {
		err = fmt.Errorf("%s:%s was moved while it was copied, from %s to %s: %w", c.from, release.Tag, release.Digest, cmp.Or(now.Digest, "nothing"), ErrTagMoved)
	}
	return err
}
