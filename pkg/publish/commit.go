package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Candidate is a release that is about to be tagged.
type Candidate struct {
	// Action is one of the action constants, such as [ActionMirror].
	Action string
	// Release is the release for the gates. Its Address and Version identify the tag.
	Release provider.Release
	Index   artifact.Blob
	// Existing is the content of the version's tag when the caller inspected it.
	// Extended is the released or pending index that the release extends, or the zero
	// value.
	Existing, Extended repository.Inspection
	// Stage specifies that the pending tag is written instead of the version's tag.
	Stage bool
	// Held is the reason an earlier call of [Commit] held the release, or nil. If set,
	// the release is now staged, and the gates don't decide again.
	Held *HeldError
	// Denial is the denial that the user overrides, or nil. Other denials, such as newer
	// ones, still apply.
	Denial *repository.DecisionRecord
	// AllowPending allows writing the tag of a version that waits for its approval.
	AllowPending bool
	// Force makes [Commit] record that it overrides the denial or the missing approval.
	// If Replaces is also set, Commit records that conflicting content is replaced.
	Force, Replaces bool
	// NoReferrers omits the record of Force and the earlier decisions about the
	// version. Use it for registries that can't store referrers.
	NoReferrers bool
	// Gates, if not nil, decide whether the tag is written.
	Gates Gates
	// Signature is the result of verifying the signature.
	Signature provider.Verdict
	// Unattested, if not nil, is the reason attestations are unavailable.
	Unattested error
	// Signer, if not nil, signs the recorded decisions.
	Signer artifact.Signer
}

// Committed is the outcome of [Commit].
type Committed struct {
	// Now is the content of the tag after it was written.
	Now repository.Inspection
	// Held is the reason the release is held, or nil. A held release was written only
	// if the candidate was staged.
	Held *HeldError
	// PendingTagError is the reason the pending tag still exists, or nil. It wraps
	// [repository.ErrTagMoved] if the tag points to another release.
	PendingTagError error
}

// Commit decides whether a release gets the tag of its version or, if it is staged, its
// pending tag. If so, Commit calls write, which must not replace a tag that another run
// has moved, and must read the tag back. Every tag of a version is written in this way,
// so that denials, missing approvals, and gates have the same effect in each flow. The
// repository must already have the content of the release.
//
//	state   the denial and the pending release, as they are now
//	decide  without I/O
//	gates   allow, deny, or hold the release
//	record  the earlier decisions about the version, and the use of Force
//	write   the tag
//	recheck delete the tag if a person has denied the version in the meantime
//	settle  delete the denial and the pending tag that the release replaces
//
// For a denied release, the error is a *[repository.DeniedError]. Commit also returns
// errors from write and the repository.
func Commit(ctx context.Context, repo repository.Repository, c Candidate, write func(ctx context.Context) (repository.Inspection, error)) (done Committed, err error) {
	s, held, err := c.check(ctx, repo)
	if done.Held = held; err != nil || held != nil {
		return done, err
	}
	if c.Gates != nil && c.Held == nil {
		if done.Held, err = c.Gates.Enforce(ctx, repo, c); err != nil || done.Held != nil && !c.Stage {
			return done, err
		}
	}
	if err := c.record(ctx, repo, s); err != nil {
		return done, err
	}
	if done.Now, err = write(ctx); err != nil || c.Stage {
		return done, err
	}
	if err := c.recheck(ctx, repo, done.Now); err != nil {
		return done, err
	}
	if s.pending.Exists() && !s.pending.IsDenial() {
		done.PendingTagError, err = c.dropPending(ctx, repo, done.Now)
	}
	if err == nil {
		err = c.dropDenial(ctx, repo)
	}
	return done, err
}

// check decides like [Commit], but runs no gates and writes nothing. Dry runs use it
// instead of Commit.
func (c Candidate) check(ctx context.Context, repo repository.Reader) (s state, held *HeldError, err error) {
	if s, err = readState(ctx, repo, c); err == nil {
		held, err = evaluate(s, c)
	}
	return s, held, err
}

// recheck deletes the tag that was just written if the version has been denied since
// [Candidate.check], for example while the gates ran. A run that denies a version writes
// the denial before it looks for the tag, so at least one of the two runs sees the other.
func (c Candidate) recheck(ctx context.Context, repo repository.Repository, written repository.Inspection) error {
	record, denied, err := repository.ReadDenial(ctx, repo, c.Release.Version)
	if err != nil || !denied || c.Denial != nil && c.Denial.Digest == record.Digest {
		return err
	}
	err = repository.Untag(ctx, repo, artifact.Tag(c.Release.Version), written.Digest, repository.Inspection{})
	if err != nil && !errors.Is(err, repository.ErrTagMoved) {
		return fmt.Errorf("the version was denied after it had been checked, but deleting its tag failed: %w", err)
	}
	return &repository.DeniedError{Record: record}
}

// state is the data about a version in a repository, apart from the version's tag.
type state struct {
	// denial is the record that denies the version, or nil.
	denial *repository.DecisionRecord
	// pending is the content of the pending tag.
	pending repository.Inspection
	// earlier contains the decisions about the indexes that the candidate replaces.
	earlier []repository.DecisionRecord
	// isUnapproved reports whether a person approved the existing release, but not all zips
	// of the candidate.
	isUnapproved bool
}

// readState reads the denial, the pending tag, and the decisions about the release that
// the candidate replaces. It doesn't use the tag list, which can be out of date.
func readState(ctx context.Context, repo repository.Reader, c Candidate) (s state, err error) {
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		record, denied, err := repository.ReadDenial(groupCtx, repo, c.Release.Version)
		if denied {
			s.denial = &record
		}
		return err
	})
	group.Go(func() (err error) {
		s.pending, err = repository.ReadPending(groupCtx, repo, c.Release.Version)
		return err
	})
	group.Go(func() error {
		for _, index := range c.replaced() {
			records, err := repository.Decisions(groupCtx, repo, index)
			if err != nil && !errors.Is(err, repository.ErrNoReferrersList) {
				return err
			}
			s.earlier = append(s.earlier, records...)
		}
		return nil
	})
	err = group.Wait()
	s.isUnapproved = isUnapproved(s.earlier, repo, c)
	return s, err
}

// isUnapproved reports whether a person approved the existing release of a version, but not
// all zips of the candidate.
func isUnapproved(decisions []repository.DecisionRecord, repo repository.Reader, c Candidate) bool {
	was := provider.Release{Address: c.Release.Address, Version: c.Release.Version, Packages: c.Existing.Packages(c.Release.Address, c.Release.Version)}
	existing, candidate := repository.About(repo, was, c.Existing.Digest), repository.About(repo, c.Release, c.Index.Descriptor.Digest)
	isApproved := false
	for _, d := range decisions {
		isPersonal := d.Kind == artifact.DecisionPromote || d.Kind == artifact.DecisionForce && d.Signature != nil
		switch {
		case !isPersonal || d.Verdict != artifact.VerdictAllow:
		case d.IsAbout(candidate):
			return false
		case d.IsAbout(existing):
			isApproved = true
		}
	}
	return isApproved
}

// evaluate decides without I/O whether a candidate can get its tag. If it must wait for an
// approval, held is the reason.
func evaluate(s state, c Candidate) (held *HeldError, err error) {
	switch {
	case s.denial != nil && (c.Denial == nil || c.Denial.Digest != s.denial.Digest):
		return nil, &repository.DeniedError{Record: *s.denial}
	case c.Stage || c.AllowPending:
		return nil, nil
	case !c.isGated() && isWaiting(s.pending, c):
		return errPending, nil
	case s.isUnapproved:
		return errUnapproved, nil
	}
	return nil, nil
}

// isGated reports whether a gate decides about the candidate.
func (c Candidate) isGated() bool { return c.Gates != nil && c.Gates.Decides(c) }

// The reasons a release is staged although no gate holds it.
var (
	errPending    = &HeldError{Reason: "the version is pending approval"}
	errUnapproved = &HeldError{Reason: "the version was approved without these packages"}
)

// isWaiting reports whether a pending release contains packages that have not been
// approved. In registries that don't delete tags, the tags of approved releases remain.
func isWaiting(pending repository.Inspection, c Candidate) bool {
	if !pending.Exists() || pending.IsDenial() {
		return false
	}
	platforms := pending.Index.Platforms()
	for _, p := range platforms {
		waiting := pending.At(p).Package(c.Release.Address, c.Release.Version).Digest
		released := c.Existing.At(p).Package(c.Release.Address, c.Release.Version).Digest
		if waiting == "" || waiting != released {
			return true
		}
	}
	return len(platforms) == 0
}

// replaced returns the indexes of the version that the candidate replaces.
func (c Candidate) replaced() (indexes []digest.Digest) {
	for _, i := range []repository.Inspection{c.Existing, c.Extended} {
		if d := i.Descriptor.Digest; d != "" && d != c.Index.Descriptor.Digest && i.CheckFormat(c.Release.Address) == nil && !slices.Contains(indexes, d) {
			indexes = append(indexes, d)
		}
	}
	return indexes
}

// record attaches the earlier decisions about the version to the index, and records the use
// of Force. If the registry can't store referrers lists, it does nothing.
func (c Candidate) record(ctx context.Context, repo repository.Repository, s state) error {
	if c.NoReferrers {
		return nil
	}
	if err := repository.CarryDecisions(ctx, repo, s.earlier, c.Index); err != nil {
		return err
	}
	reason := c.override(s)
	if reason == "" {
		return nil
	}
	if c.Index.Descriptor.Digest != c.Existing.Descriptor.Digest {
		if err := repo.PushManifest(ctx, c.Index); err != nil {
			return err
		}
	}
	d := repository.NewDecision(repo, artifact.DecisionForce, artifact.VerdictAllow, c.Release.Address, c.Release.Version)
	d.Reason, d.Packages = reason, artifact.PackageDigests(c.Release.Packages)
	err := repository.Record(ctx, repo, d, c.Index.Descriptor, c.Signer)
	if errors.Is(err, repository.ErrNoReferrersList) {
		return nil
	}
	return err
}

// override returns the reason to record for the use of Force. If Force had no effect, it
// returns an empty string.
func (c Candidate) override(s state) string {
	switch {
	case !c.Force:
		return ""
	case c.Denial != nil:
		return "overrides the denial " + c.Denial.Digest.String()
	case c.Replaces:
		return "overwrites conflicting content"
	case c.AllowPending && (isWaiting(s.pending, c) || s.isUnapproved):
		return "overrides the missing approval"
	}
	return ""
}

// settle deletes the pending tag that a released index replaces. It is used if the tag
// was already right, so that [Commit] didn't write it. tags contains the tags of the
// repository.
func (c Candidate) settle(ctx context.Context, repo repository.Repository, released repository.Inspection, tags []string) error {
	if !slices.Contains(tags, artifact.PendingTag(c.Release.Version)) || !c.isGated() {
		return nil
	}
	_, err := c.dropPending(ctx, repo, released)
	return err
}

func (c Candidate) dropPending(ctx context.Context, repo repository.Repository, released repository.Inspection) (tagErr, err error) {
	err = repository.Untag(ctx, repo, artifact.PendingTag(c.Release.Version), released.Digest, released)
	if errors.Is(err, repository.ErrTagNotDeleted) || errors.Is(err, repository.ErrTagMoved) {
		return err, nil
	}
	return nil, err
}

func (c Candidate) dropDenial(ctx context.Context, repo repository.Repository) error {
	if c.Denial == nil {
		return nil
	}
	return c.Denial.Remove(ctx, repo)
}
