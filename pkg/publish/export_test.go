package publish

import (
	"cmp"
	"context"
	"io"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// FactsForTest contains the facts for a plan.
type FactsForTest struct {
	repository.Inspection
	Kept     provider.Release
	Restored []provider.Package
	Lost     []provider.Platform
	// Pending is the pending release if Inspection describes the released version.
	Pending *repository.Inspection
	// Denial, Tags, and Owner describe the repository. Wanted contains the platforms
	// that the source is known to have before its release is read.
	Denial *repository.DecisionRecord
	Tags   []string
	Owner  *repository.ProviderMismatchError
	Wanted []provider.Platform
}

// PolicyForTest is the policy of a plan.
type PolicyForTest struct{ Force, SkipDenied, Listed bool }

// ReleaseForTest returns the release that the tag will contain.
func (p Plan) ReleaseForTest() provider.Release { return p.release }

// NewPlan returns a plan for the facts. asks reports whether the plan required the
// source's release.
func NewPlan(t FactsForTest, r provider.Release, o PolicyForTest) (p Plan, asks bool) {
	f := facts{
		runFacts{address: r.Address, version: r.Version, tag: "1.2.3", release: r, known: map[part]bool{}, denial: t.Denial, tags: t.Tags},
		tagFacts{stored: t.Inspection, kept: t.Kept, restored: t.Restored, lost: t.Lost, wanted: t.Wanted},
	}
	f.from = f.stored.Digest
	if t.Pending != nil {
		f.tag, f.from, f.stored = t.Pending.Tag, t.Pending.Digest, baseOf(*t.Pending, t.Inspection)
	}
	f.foreign = cmp.Or(t.Owner, checkIndexOwner(f.stored, r.Address))
	for {
		p = newPlan(f, policy{force: o.Force, overrules: o.Force && !o.SkipDenied, listed: o.Listed})
		if p.needs == needNothing {
			return p, f.known[needRelease]
		}
		f.known[p.needs] = true
	}
}

// WithAcquire replaces the limit of transfers.
func (p *Publisher) WithAcquire(acquire func(ctx context.Context, size int64) (release func(), err error)) *Publisher {
	p.acquire = acquire
	return p
}

// NewVerifyingReader returns a verifyingReader.
func NewVerifyingReader(src io.Reader, open func() error) io.Reader {
	return &verifyingReader{src: src, open: open}
}

// StateForTest is what a repository contains about a version, apart from its tag.
type StateForTest struct {
	Denial       *repository.DecisionRecord
	Pending      repository.Inspection
	IsUnapproved bool
}

// Evaluate calls evaluate.
func Evaluate(s StateForTest, c Candidate) (*HeldError, error) {
	return evaluate(state{denial: s.Denial, pending: s.Pending, isUnapproved: s.IsUnapproved}, c)
}

// IsUnapproved calls isUnapproved.
func IsUnapproved(decisions []repository.DecisionRecord, repo repository.Reader, c Candidate) bool {
	return isUnapproved(decisions, repo, c)
}
