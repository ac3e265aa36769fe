package gate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// maxRecords limits the number of recorded decisions on an index. Once this number is
// reached, holds aren't recorded, and denials aren't replaced. The limit is less than
// the number of records that can be read.
const maxRecords = 100

// id identifies the gate and its command in records. The separator indicates whether
// the user chose the name.
func (g Gate) id() string {
	separator := ":"
	if g.Named {
		separator = "@"
	}
	return g.Name + separator + g.command().Encoded()[:12]
}

// made reports whether r records a decision by this gate.
func (g Gate) made(r repository.DecisionRecord) bool { return r.IsByGate(g.id()) }

// about returns the record of the gate's verdict on a release.
func (g Gate) about(repo repository.Reader, c publish.Candidate, v Verdict) artifact.Decision {
	d := repository.NewDecision(repo, artifact.DecisionGate, string(v), c.Release.Address, c.Release.Version)
	d.Index, d.Gate, d.By = c.Index.Descriptor.Digest, g.id(), "gate "+g.Name
	return d
}

// earlier returns the gate's last recorded decision on the release, and the number of
// decisions by gates on the index.
func (g Gate) earlier(ctx context.Context, repo repository.Repository, c publish.Candidate) (last repository.DecisionRecord, n int) {
	records, err := repository.Decisions(ctx, repo, c.Index.Descriptor.Digest, artifact.DecisionGate)
	if err != nil {
		return last, maxRecords // the gate decides again
	}
	for _, r := range records {
		if g.made(r) && r.IsAbout(g.about(repo, c, "")) && (c.Signer == nil || c.Signer.Signed(r.Statement, r.Signature)) {
			last = r
		}
	}
	return last, len(records)
}

// reuse returns the result in a recorded decision if it is still valid. Copies include
// the records of their source. Therefore, results are reused for copied releases only
// if the run's key signed the records.
func (g Gate) reuse(c publish.Candidate, last repository.DecisionRecord) (a Result, valid bool) {
	now := time.Now()
	a = Result{Verdict: Verdict(last.Verdict), Reason: last.Reason, ValidUntil: last.ValidUntil, Expires: last.Expires}
	return a, last.Gate == g.id() && a.Verdict != Deny && now.Before(last.ValidUntil) && (last.Expires.IsZero() || now.Before(last.Expires)) &&
		(c.Signer != nil || c.Action != publish.ActionCopy && c.Action != publish.ActionImport && c.Action != publish.ActionPromote)
}

// record stores a result, unless it repeats the last decision without extending its
// validity. It returns the record of a denial, which is also stored under the denial's
// tag unless the version is released. Denials by people and other gates are kept. n is
// the number of decisions by gates on the index.
func (g Gate) record(ctx context.Context, repo repository.Repository, c publish.Candidate, a Result, last repository.DecisionRecord, n int) (r repository.DecisionRecord, err error) {
	d := g.about(repo, c, a.Verdict)
	d.Reason, d.ValidUntil, d.Expires = a.Reason, a.ValidUntil.Truncate(time.Second), a.Expires
	repeated := func(before repository.DecisionRecord) bool {
		return before.Repeats(d) && !d.ValidUntil.After(before.ValidUntil)
	}
	packed, err := d.Pack(c.Index.Descriptor, c.Signer)
	if err != nil {
		return r, err
	}
	if err := repo.PushManifest(ctx, c.Index); err != nil {
		return r, err
	}
	if a.Verdict != Deny {
		if repeated(last) || a.Verdict == Hold && n >= maxRecords {
			return r, nil
		}
		err = repository.AttachDecision(ctx, repo, packed, c.Index.Descriptor)
		if errors.Is(err, repository.ErrNoReferrersList) && a.Expires.IsZero() {
			err = nil // only the expiry of an approval must be known later
		}
		return r, err
	}
	tag := artifact.Tag(c.Release.Version)
	r = repository.DecisionRecord{Decision: d, Repository: repo.String(), Tag: tag, Digest: packed.Manifest.Descriptor.Digest, Index: d.Index}
	if c.TagExists {
		return r, nil
	}
	denial, denied, err := repository.ReadDenial(ctx, repo, c.Release.Version)
	if err != nil || denied && (repeated(denial) || !g.made(denial) || n >= maxRecords) {
		return denial, err
	}
	r.Tag = artifact.DeniedTag(c.Release.Version)
	return r, repository.RecordDenial(ctx, repo, c.Release.Version, packed)
}

// DenyExpired reports whether the gate whose approval has expired denies the version.
func (gs Gates) DenyExpired(e *repository.ExpiredError) bool {
	return slices.ContainsFunc(gs, func(g Gate) bool { return g.DenyExpired && g.made(e.Record) })
}
