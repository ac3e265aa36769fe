package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// maxRecords is the number of recorded decisions about an index after which holds aren't
// recorded, and denials aren't replaced. It is less than the number that can be read.
const maxRecords = 100

// id identifies the gate and its command in records. The separator specifies whether the
// user chose the name.
func (g Gate) id() string {
	separator := ":"
	if g.Named {
		separator = "@"
	}
	return g.Name + separator + g.command().Encoded()[:12]
}

// parseID returns the parts of an identifier in a record.
func parseID(id string) (name, command string, named bool) {
	i := strings.LastIndexAny(id, "@:")
	if i < 0 {
		return id, id, false
	}
	return id[:i], id[i+1:], id[i] == '@'
}

// isSame reports whether two identifiers in records belong to the same gate. A name from a
// command line identifies a gate only together with its command.
func isSame(a, b string) bool {
	nameA, commandA, namedA := parseID(a)
	nameB, commandB, namedB := parseID(b)
	return commandA == commandB || namedA && namedB && nameA == nameB
}

// made reports whether the gate made a recorded decision.
func (g Gate) made(d artifact.Decision) bool {
	return d.Kind == artifact.DecisionGate && isSame(d.Gate, g.id())
}

// Made reports whether one of the gates made a recorded decision.
func (gs Gates) Made(d artifact.Decision) bool {
	return slices.ContainsFunc(gs, func(g Gate) bool { return g.made(d) })
}

// Reconsider reports whether a gate decides again about a version that it has denied.
func (gs Gates) Reconsider(r repository.DecisionRecord) bool {
	return r.Verdict == artifact.VerdictDeny && gs.Made(r.Decision) && !time.Now().Before(r.ValidUntil)
}

// about returns the record of a decision about a release.
func (g Gate) about(repo repository.Reader, c Candidate, v Verdict) artifact.Decision {
	d := repository.NewDecision(repo, artifact.DecisionGate, string(v), c.Release.Address, c.Release.Version)
	d.Index, d.Gate, d.By = c.Index.Descriptor.Digest, g.id(), "gate "+g.Name
	return d
}

// earlier returns the last recorded decision of the gate about the release, and the
// number of decisions of gates about the index.
func (g Gate) earlier(ctx context.Context, repo repository.Repository, c Candidate) (last repository.DecisionRecord, n int) {
	records, err := repository.Decisions(ctx, repo, c.Index.Descriptor.Digest, artifact.DecisionGate)
	if err != nil {
		return last, maxRecords // the gate decides again
	}
	for _, r := range records {
		if g.made(r.Decision) && r.IsAbout(g.about(repo, c, "")) && (c.Signer == nil || c.Signer.Signed(r.Statement, r.Signature)) {
			last = r
		}
	}
	return last, len(records)
}

// reuse returns the answer in a recorded decision if it is still valid. Copies include the
// records of their source. Therefore, results are reused for copied releases only if the
// run's key signed them.
func (g Gate) reuse(c Candidate, last repository.DecisionRecord) (a Answer, valid bool) {
	now := time.Now()
	a = Answer{Verdict: Verdict(last.Verdict), Reason: last.Reason, ValidUntil: last.ValidUntil, Expires: last.Expires}
	return a, last.Gate == g.id() && a.Verdict != Deny && now.Before(last.ValidUntil) && (last.Expires.IsZero() || now.Before(last.Expires)) &&
		(c.Signer != nil || c.Action != Copy && c.Action != Promote)
}

// record stores an answer, unless it repeats the last decision and isn't valid for longer.
// It returns the record of a denial, which is also stored under the denial's tag unless
// the version is released. Denials of people and other gates are kept. n is the number of
// decisions of gates about the index.
func (g Gate) record(ctx context.Context, repo repository.Repository, c Candidate, a Answer, last repository.DecisionRecord, n int) (r repository.DecisionRecord, err error) {
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
	denial, denied, err := repository.ReadDenial(ctx, repo, c.Release.Version)
	if err != nil || denied && (repeated(denial) || !g.made(denial.Decision) || n >= maxRecords) {
		return denial, err
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
func (e *ExpiredError) Gate() string {
	name, _, _ := parseID(e.Record.Decision.Gate)
	return name
}

// DenyExpired reports whether versions with this expired allowance are denied.
func (gs Gates) DenyExpired(e *ExpiredError) bool {
	return slices.ContainsFunc(gs, func(g Gate) bool { return g.DenyExpired && g.made(e.Record.Decision) })
}

// CheckExpired returns an *[ExpiredError] if the last allowance of a gate for an index has
// expired.
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

// Expired returns an error if the last allowance of a gate in records, oldest first, has
// expired. Otherwise, it returns nil. Only the gate can renew its allowance, so other
// decisions have no effect.
func Expired(records []repository.DecisionRecord) *ExpiredError {
	for i, r := range records {
		renews := func(later repository.DecisionRecord) bool { return allows(later) && isSame(later.Gate, r.Gate) }
		if allows(r) && !r.Expires.IsZero() && !time.Now().Before(r.Expires) && !slices.ContainsFunc(records[i+1:], renews) {
			return &ExpiredError{r}
		}
	}
	return nil
}

func allows(r repository.DecisionRecord) bool {
	return r.Kind == artifact.DecisionGate && r.Verdict == artifact.VerdictAllow
}
