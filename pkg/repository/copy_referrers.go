package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

const (
	// maxReferrerLevels limits the length of a chain of referrers. For example, the
	// signature of a release's SBOM is at level two.
	maxReferrerLevels = 8
	// maxReferrers limits the number of referrers of one manifest.
	maxReferrers = 1000
)

// referrers copies the referrers of the copied manifests, and the referrers of these
// referrers.
func (c *copier) referrers(ctx context.Context, index artifact.Blob) error {
	if c.options.NoReferrers {
		return nil
	}
	for level := 0; ; level++ {
		subjects := c.takeSubjects()
		if len(subjects) == 0 {
			return nil
		}
		if level > maxReferrerLevels {
			return &artifact.FormatError{Problem: fmt.Sprintf("referrers are nested more than %d levels deep", maxReferrerLevels)}
		}
		if err := eachOf(c, maxConcurrentRequests, subjects, func(d digest.Digest) error { return c.copyReferrersOf(ctx, index, d) }); err != nil {
			return err
		}
	}
}

// copyReferrersOf copies the referrers of one manifest. If the manifest is the index and
// has referrers, copyReferrersOf sends the index first.
func (c *copier) copyReferrersOf(ctx context.Context, index artifact.Blob, subject digest.Digest) error {
	have, err := readReferrers(ctx, c.from, subject)
	if isFormat(err) || errors.Is(err, ErrNoReferrersList) {
		return nil // the tag doesn't point to a referrers list
	}
	if err != nil {
		return fmt.Errorf("listing the referrers of %s: %w", subject, err)
	}
	if n := len(have.entries); n == 0 {
		return nil
	} else if n > maxReferrers {
		return fmt.Errorf("listing the referrers of %s: %d referrers exceed the limit of %d", subject, n, maxReferrers)
	}
	if subject == index.Descriptor.Digest {
		if err := c.ensureManifest(ctx, index); err != nil {
			return err
		}
	}
	known, err := readReferrers(ctx, c.to, subject)
	if err != nil {
		return fmt.Errorf("listing the referrers of %s: %w", subject, err)
	}
	entries, err := c.entries(ctx, have.entries, known)
	if err != nil || c.options.DryRun || known.byAPI || !slices.ContainsFunc(entries, func(d ocispec.Descriptor) bool { return !known.has(d.Digest) }) {
		return err
	}
	list := referrersList{repo: c.to, subject: subject}
	if have.byAPI || have.untagged {
		slices.SortFunc(entries, func(a, b ocispec.Descriptor) int { return cmp.Compare(a.Digest, b.Digest) })
	} else if len(entries) == len(have.entries) {
		list.original = have.list
	}
	return list.add(ctx, entries, known)
}

// errLocal is returned for a decision that is not copied. Only denials and signed decisions
// by people are copied, because their effect doesn't depend on who can write to the source.
var errLocal = errors.New("the decision applies only to the repository that contains it")

// entries copies the manifests in a referrers list, and returns the entries whose
// manifests exist, without local decisions. Cleanup jobs that don't support referrers might
// have deleted some manifests. existing contains the target's referrers.
func (c *copier) entries(ctx context.Context, list []ocispec.Descriptor, existing referrers) (alive []ocispec.Descriptor, err error) {
	alive, err = existingReferrers(list, func(d ocispec.Descriptor) error { return c.child(ctx, d, maxCopyDepth, true) })
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Referrers += len(alive)
	for _, d := range alive {
		if !existing.has(d.Digest) {
			c.result.Attached = append(c.result.Attached, titleOf(d))
		}
	}
	slices.Sort(c.result.Attached)
	return alive, nil
}

// existingReferrers calls read for each entry in a referrers list, and returns the
// entries whose manifests exist. It omits entries for which read returns errLocal.
func existingReferrers(list []ocispec.Descriptor, read func(ocispec.Descriptor) error) (existing []ocispec.Descriptor, err error) {
	for _, d := range list {
		if d.Digest.Validate() != nil {
			continue
		}
		err := read(d)
		unread, ok := errors.AsType[*unreadableError](err)
		if ok && unread.manifest == d.Digest && errors.Is(err, ErrNotFound) || errors.Is(err, errLocal) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the referrer %s: %w", d.Digest, err)
		}
		existing = append(existing, d)
	}
	return existing, nil
}

// titleOf returns a referrer's title. If the title is missing, it returns the type or,
// if the type is missing, too, the digest.
func titleOf(d ocispec.Descriptor) string {
	return cmp.Or(d.Annotations[ocispec.AnnotationTitle], d.ArtifactType, d.Digest.String())
}
