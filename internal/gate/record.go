package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// id identifies the gate and its command in records.
func (g Gate) id() string { return g.Name + "@" + g.command().Encoded()[:12] }

// made reports whether the gate made a recorded decision. A name from a command line
// identifies a gate only together with its command.
func (g Gate) made(d artifact.Decision) bool {
	return d.Kind == artifact.DecisionGate && (d.Gate == g.id() || g.Named && nameOf(d) == g.Name)
}

// nameOf returns the name of the gate that made a decision.
func nameOf(d artifact.Decision) string {
	name, _, _ := strings.Cut(d.Gate, "@")
	return name
}

// Reconsider reports whether a gate decides again about a version that it has denied.
func (gs Gates) Reconsider(r repository.DecisionRecord) bool {
	for _, g := range gs {
		if r.Verdict == artifact.VerdictDeny && g.made(r.Decision) && !time.Now().Before(r.ValidUntil) {
			return true
		}
	}
	return false
}

// about returns the record of a decision about a release.
func (g Gate) about(repo repository.Reader, c Candidate, v Verdict) artifact.Decision {
	d := repository.NewDecision(repo, artifact.DecisionGate, string(v), c.Release.Address, c.Release.Version)
	d.Index, d.Gate, d.By = c.Index.Descriptor.Digest, g.id(), "gate "+g.Name
	return d
}

// earlier returns a recorded answer that is still valid. Copies include the records of
// their source. Therefore, results are reused for copied releases only if the run's key
// signed them.
func (g Gate) earlier(ctx context.Context, repo repository.Reader, c Candidate) (a Answer, found bool) {
	if c.Signer == nil && (c.Action == Copy || c.Action == Promote) {
		return a, false
	}
	records, err := repository.Decisions(ctx, repo, c.Index.Descriptor.Digest, artifact.DecisionGate)
	if err != nil {
		return a, false // the gate decides again
	}
	now := time.Now()
	for _, r := range records {
		if r.Gate != g.id() || !r.IsAbout(g.about(repo, c, "")) || c.Signer != nil && !c.Signer.Signed(r.Statement, r.Signature) {
			continue
		}
		a = Answer{Verdict: Verdict(r.Verdict), Reason: r.Reason, ValidUntil: r.ValidUntil, Expires: r.Expires}
		found = now.Before(r.ValidUntil) && (r.Expires.IsZero() || now.Before(r.Expires)) && a.Verdict != Deny
	}
	return a, found
}

// record stores an answer. It returns the record of a denial, which is also stored under
// the denial's tag unless the version is released.
func (g Gate) record(ctx context.Context, repo repository.Repository, c Candidate, a Answer) (r repository.DecisionRecord, err error) {
	d := g.about(repo, c, a.Verdict)
	d.Reason, d.ValidUntil, d.Expires = a.Reason, a.ValidUntil.Truncate(time.Second), a.Expires
	packed, err := d.Pack(c.Index.Descriptor, c.Signer)
	if err != nil {
		return r, err
	}
	if err := repo.PushManifest(ctx, c.Index); err != nil {
		return r, err
	}
	if a.Verdict != Deny {
		err = repository.AttachDecision(ctx, repo, packed, c.Index.Descriptor)
		if errors.Is(err, repository.ErrNoReferrersList) && a.Expires.IsZero() {
			err = nil // only the end of an allowance must be known later
		}
		return r, err
	}
	tag := artifact.Tag(c.Release.Version)
	r = repository.DecisionRecord{Decision: d, Repository: repo.String(), Tag: tag, Digest: packed.Manifest.Descriptor.Digest, Index: d.Index}
	live, err := repository.Inspect(ctx, repo, tag, repository.DepthIndex)
	if err != nil || live.Exists() {
		return r, err
	}
	r.Tag = artifact.DeniedTag(c.Release.Version)
	return r, repository.RecordDenial(ctx, repo, c.Release.Version, packed, c.Index.Descriptor)
}

// ExpiredError reports that the allowance of a release has expired.
type ExpiredError struct{ Record repository.DecisionRecord }

// Kind returns [provider.Refused].
func (e *ExpiredError) Kind() provider.ErrorKind { return provider.Refused }

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("the allowance of gate %q expired on %s", e.Gate(), e.Record.Expires.UTC().Format(time.DateOnly))
}

// Gate returns the name of the gate.
func (e *ExpiredError) Gate() string { return nameOf(e.Record.Decision) }

// CheckExpired returns an *[ExpiredError] if the last decision of a gate about an index
// is an allowance that has expired.
func CheckExpired(ctx context.Context, repo repository.Reader, index digest.Digest) error {
	records, err := repository.Decisions(ctx, repo, index, artifact.DecisionGate)
	if err != nil && !errors.Is(err, repository.ErrNoReferrersList) {
		return err
	}
	if expired := Expired(records); expired != nil {
		return expired
	}
	return nil
}

// Expired returns an error if the last decision of a gate in records, oldest first, is an
// allowance that has expired. Otherwise, it returns nil.
func Expired(records []repository.DecisionRecord) *ExpiredError {
	last := map[string]repository.DecisionRecord{}
	for _, r := range records {
		if r.Kind == artifact.DecisionGate {
			last[nameOf(r.Decision)] = r
		}
	}
	for _, r := range records {
		isLast := last[nameOf(r.Decision)].Digest == r.Digest
		if isLast && r.Verdict == artifact.VerdictAllow && !r.Expires.IsZero() && !time.Now().Before(r.Expires) {
			return &ExpiredError{r}
		}
	}
	return nil
}
