package approval

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// defaultSettle is how long to wait, where tags are not atomic, before looking whether
// another run has overwritten a list of referrers.
const defaultSettle = 500 * time.Millisecond

// DenyOptions of [Deny]. Reason is needed.
type DenyOptions struct {
	// Reason is why, for those who ask later.
	Reason string
	// By names who decided. May be empty.
	By string
	// Aliases are the providers whose releases the repository may have instead.
	Aliases provider.Aliases
	// DryRun looks, and writes nothing.
	DryRun bool
	// Settle is how long to wait before looking whether another run has overwritten
	// the list of referrers; 0 is half a second.
	Settle time.Duration
}

// Deny records why a pending release is not to be used, and removes its tag. The
// record refers to the index, and lies under a tag of its own: the index, which no tag
// names any more, may be collected as garbage, and whoever stages the same release
// again is told the reason all the same. Where the registry removes no tags, the
// pending one names the denial from then on, see [Result] Stays. What was denied
// before is [Unchanged], with the reason of then. Errors are [ErrNotPending],
// *[repository.ConflictError] and the repository's.
func Deny(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, o DenyOptions) (Result, error) {
	d := denying{decision{repo, a, v}, o}
	r, err := d.run(ctx)
	if err != nil {
		return r, fmt.Errorf("denying %s %s: %w", a, v, err)
	}
	return r, nil
}

type denying struct {
	decision
	options DenyOptions
}

func (d denying) run(ctx context.Context) (Result, error) {
	r := Result{Address: d.address, Version: d.version, Status: Denied, Tag: artifact.DeniedTag(d.version)}
	denial := artifact.Denial{Reason: d.options.Reason, By: d.options.By, Packages: map[provider.Platform]digest.Digest{}}
	if err := denial.Check(); err != nil {
		return r, err
	}
	// 1. What waits.
	waiting, err := repository.Inspect(ctx, d.repo, artifact.PendingTag(d.version), repository.DepthManifests)
	if err != nil {
		return r, err
	}
	if !waiting.Exists() || isFormat(waiting.Format) {
		return d.before(ctx, r, waiting)
	}
	if err := d.deniable(ctx, waiting); err != nil {
		return r, err
	}
	// 2. The record.
	r.Packages = d.packages(waiting)
	for _, p := range r.Packages {
		if p.Digest != "" {
			denial.Packages[p.Platform] = p.Digest
		}
	}
	packed, err := artifact.PackDenial(denial, waiting.Descriptor)
	if err != nil {
		return r, err
	}
	r.Digest = packed.Manifest.Descriptor.Digest
	r.Record = &Record{Denial: denial, Tag: r.Tag, Digest: r.Digest, Index: waiting.Digest}
	if d.options.DryRun {
		return r, nil
	}
	if err := d.record(ctx, packed, waiting); err != nil {
		return r, fmt.Errorf("recording the reason: %w", err)
	}
	// 3. The tag: it goes, or is the denial's.
	if r.Stays, err = d.untag(ctx, waiting.Tag, waiting.Digest); err != nil || r.Stays == nil {
		return r, err
	}
	if errors.Is(r.Stays, repository.ErrTagMoved) {
		return r, r.Stays // somebody staged it anew: that has to be looked at
	}
	if err := d.repo.PushTag(ctx, packed.Manifest, waiting.Tag, waiting.Digest); err != nil {
		return r, fmt.Errorf("the reason is recorded under the tag %s, and the tag %s can be neither removed nor moved: %w", r.Tag, waiting.Tag, err)
	}
	return r, nil
}

// before is the result where nothing waits: it may have been denied already.
func (d denying) before(ctx context.Context, r Result, waiting repository.Inspection) (Result, error) {
	record, err := Recorded(ctx, d.repo, d.version)
	switch {
	case err != nil:
		return r, err
	case record != nil:
		r.Status, r.Record, r.Tag, r.Digest = Unchanged, record, record.Tag, record.Digest
		return r, nil
	case waiting.Exists():
		return r, d.own(waiting, d.options.Aliases)
	}
	return r, d.nothing()
}

// deniable refuses what nobody can deny: what is not there in a way that a record
// could refer to, another provider's, and what is promoted.
func (d denying) deniable(ctx context.Context, waiting repository.Inspection) error {
	if waiting.Lost {
		return fmt.Errorf("%w: its index %s is lost", ErrIncomplete, waiting.Digest)
	}
	if err := d.own(waiting, d.options.Aliases); err != nil {
		return err
	}
	standing, err := repository.Inspect(ctx, d.repo, artifact.Tag(d.version), repository.DepthIndex)
	if err == nil && standing.Digest == waiting.Digest {
		err = fmt.Errorf("%w: it is promoted already", ErrNotPending)
	}
	return err
}

// record stores the denial as a referrer of the index, and under its tag.
func (d denying) record(ctx context.Context, packed artifact.Referrer, waiting repository.Inspection) error {
	_, err := repository.Attach(ctx, d.repo, []provider.Document{packed.Document}, waiting.Descriptor, cmp.Or(d.options.Settle, defaultSettle))
	if err != nil && !errors.Is(err, repository.ErrSubject) { // then the tag alone keeps it
		return err
	}
	if err := d.repo.PushBlob(ctx, packed.Config.Descriptor, bytes.NewReader(packed.Config.Bytes)); err != nil {
		return err
	}
	document := ocispec.Descriptor{MediaType: packed.Document.MediaType, Digest: packed.Document.Digest, Size: packed.Document.Size}
	if err := d.repo.PushBlob(ctx, document, bytes.NewReader(packed.Document.Bytes)); err != nil {
		return err
	}
	before, err := repository.Inspect(ctx, d.repo, artifact.DeniedTag(d.version), repository.DepthIndex)
	if err != nil || before.Digest == packed.Manifest.Descriptor.Digest && !before.Lost {
		return err
	}
	return d.repo.PushTag(ctx, packed.Manifest, before.Tag, before.Digest)
}
