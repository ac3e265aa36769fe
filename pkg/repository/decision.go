package repository

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// lostReason replaces a reason that can't be read.
const lostReason = "reason unavailable"

const (
	// maxDecisions limits the number of decisions about one index.
	maxDecisions = 200
	// maxGateDecisions limits the number of recorded decisions by gates that don't allow a
	// release, so that all decisions can be read.
	maxGateDecisions = 100
	// maxDecisionBytes limits the total size of these decisions in bytes.
	maxDecisionBytes = 16 << 20
)

// errFlood is returned if an index has too many decisions, or if they are too large.
var errFlood = provider.Errorf(provider.Refused, "the decisions exceed the limit of %d decisions or %d bytes", maxDecisions, maxDecisionBytes)

// personal contains the kinds of decisions that people make.
var personal = []string{artifact.DecisionPromote, artifact.DecisionForce, artifact.DecisionDeny}

// DecisionRecord describes a decision as a repository stores it.
type DecisionRecord struct {
	artifact.Decision
	// Repository is the name of the repository that stores the record, as returned by
	// its String method.
	Repository string
	// Tag is the tag of a denial, and empty for other decisions. Digest is the digest of
	// the manifest. Digest is empty if the registry lists the tag but can't find the
	// manifest.
	Tag    string
	Digest digest.Digest
	// Index is the digest of the index that the manifest refers to. The index might
	// have been garbage-collected. If the record is lost or damaged, Index is empty.
	Index digest.Digest
	// Statement is the JSON form of Decision. Signature is the detached signature of
	// the statement, and Keys contains the signer's public key. Signature and Keys are
	// nil if the decision is not signed. The signature has not been verified.
	Statement, Signature, Keys []byte
	// Key is the fingerprint of the primary key that made a valid signature, if any.
	// The key isn't necessarily trusted. Foreign reports whether the decision has no
	// effect, because its statement is about a different repository or about a release
	// without these zips. Only approval.Examine sets these fields.
	Key     string
	Foreign bool
}

// MarshalText returns the result of String.
func (r DecisionRecord) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// NewDecision returns a decision of the given kind about a version in a repository,
// with the current time. For a module, the repository is used instead of the address,
// because flows spell the address differently.
func NewDecision(repo Reader, kind, verdict string, a provider.Address, v provider.Version) artifact.Decision {
	name, module := repo.String(), "oci://"+repo.String()
	if repo.Capabilities().Registry == "" {
		name, module = "oci-layout", "oci-layout" // the directory of a layout can be moved or copied
	}
	subject := a.String()
	if a.IsModule() {
		subject = module
	}
	return artifact.Decision{Kind: kind, Verdict: verdict, Repository: name, Provider: subject, Version: v.String(), Time: time.Now().UTC().Truncate(time.Millisecond)}
}

// Record stores a decision as a referrer of its index. It skips a decision that repeats
// a recorded decision. See [artifact.Decision.Repeats]. However, it stores the decision
// again in two cases: a denial or a different decision of the same gate followed, or
// signer is not nil and did not sign the recorded decision. If gates have made many
// decisions, Record stores another decision by a gate only if it allows the release. If
// the registry can't store referrers lists, Record returns [ErrNoReferrersList].
func Record(ctx context.Context, repo Repository, d artifact.Decision, index ocispec.Descriptor, signer artifact.Signer) error {
	d.Index = index.Digest
	existing, err := Decisions(ctx, repo, index.Digest, d.Kind, artifact.DecisionDeny)
	if err != nil {
		return err
	}
	recorded, gates := false, 0
	for _, r := range existing {
		switch {
		case r.Repeats(d) && (signer == nil || signer.Signed(r.Statement, r.Signature)):
			recorded = true
		case r.Kind == artifact.DecisionDeny, r.Gate != "" && r.Gate == d.Gate:
			recorded = false
		}
		if r.Kind == artifact.DecisionGate {
			gates++
		}
	}
	if recorded || d.Kind == artifact.DecisionGate && d.Verdict != artifact.VerdictAllow && gates >= maxGateDecisions {
		return nil
	}
	packed, err := d.Pack(index, signer)
	if err != nil {
		return err
	}
	_, err = attach(ctx, repo, []artifact.Referrer{packed}, artifact.Blob{Descriptor: index})
	return err
}

// TagDecision stores a packed decision under a tag, unless the tag already points to
// the decision. It returns the manifest that the tag points to. The tag of a denial is
// [artifact.DeniedTag].
func TagDecision(ctx context.Context, repo Repository, tag string, packed artifact.Referrer) (artifact.Blob, error) {
	before, err := Inspect(ctx, repo, tag, DepthIndex)
	if err != nil || before.Digest == packed.Manifest.Descriptor.Digest && !before.Dangling {
		return packed.Manifest, err
	}
	for _, blob := range packed.Documents() {
		descriptor := ocispec.Descriptor{MediaType: blob.MediaType, Digest: blob.Digest, Size: blob.Size}
		if err := repo.PushBlob(ctx, descriptor, bytes.NewReader(blob.Bytes)); err != nil {
			return packed.Manifest, err
		}
	}
	return pushAccepted(packed.Manifest, func(m artifact.Blob) error { return repo.PushTag(ctx, m, before.Tag, before.Digest) })
}

// Decisions returns the recorded decisions about an index, oldest first. If kinds are
// given, it returns only decisions of these kinds. It skips records that are missing or
// damaged. If there are more than 200 decisions, or if the registry can't store
// referrers lists, Decisions returns an error.
func Decisions(ctx context.Context, repo Reader, index digest.Digest, kinds ...string) (records []DecisionRecord, err error) {
	known, err := readReferrers(ctx, repo, index)
	if err == nil {
		if len(kinds) == 0 {
			kinds = append(slices.Clone(personal), artifact.DecisionGate)
		}
		records, err = readDecisions(ctx, repo, known.entries, index, kinds...)
	}
	if err != nil {
		return nil, fmt.Errorf("listing the decisions about %s: %w", index, err)
	}
	return records, nil
}

// readDecisions reads the decisions of the given kinds in a referrers list.
func readDecisions(ctx context.Context, repo Reader, entries []ocispec.Descriptor, index digest.Digest, kinds ...string) ([]DecisionRecord, error) {
	entries = slices.DeleteFunc(slices.Clone(entries), func(d ocispec.Descriptor) bool {
		return d.Digest.Validate() != nil || !artifact.MayBeDecision(d, kinds...)
	})
	if len(entries) > maxDecisions {
		return nil, errFlood
	}
	var records []DecisionRecord
	var mu sync.Mutex
	left := int64(maxDecisionBytes)
	reserve := func(size int64) error {
		mu.Lock()
		defer mu.Unlock()
		if left -= size; left < 0 {
			return errFlood
		}
		return nil
	}
	err := schedule.All(ctx, maxConcurrentRequests, entries, func(ctx context.Context, _ int, d ocispec.Descriptor) error {
		_, data, err := repo.Manifest(ctx, d.Digest.String())
		var r DecisionRecord
		if err == nil {
			r, err = readDecision(ctx, repo, data, reserve)
		}
		if isFinding(err) {
			return nil
		}
		if r.Digest = d.Digest; r.Index == index && slices.Contains(kinds, r.Kind) {
			mu.Lock()
			defer mu.Unlock()
			records = append(records, r)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return sortDecisions(records), nil
}

func sortDecisions(records []DecisionRecord) []DecisionRecord {
	slices.SortFunc(records, func(a, b DecisionRecord) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Digest, b.Digest)) })
	return records
}

// DecisionsAbout returns the decisions by people about a release, oldest first. It skips
// decisions that don't apply to the release. See [artifact.Decision.IsAbout]. Because an
// alias can request the release under a different address, decisions about the address
// stored, unless it is the zero value, apply as well.
func DecisionsAbout(ctx context.Context, repo Reader, r provider.Release, index digest.Digest, stored provider.Address) ([]artifact.SignedDecision, error) {
	records, err := Decisions(ctx, repo, index, personal...)
	return HumanDecisions(records, repo, r, index, stored), err
}

// HumanDecisions is like [DecisionsAbout], but selects the decisions from records that
// were already read.
func HumanDecisions(records []DecisionRecord, repo Reader, r provider.Release, index digest.Digest, stored provider.Address) (found []artifact.SignedDecision) {
	about := []artifact.Decision{About(repo, r, index)}
	if stored != (provider.Address{}) {
		r.Address = stored
		about = append(about, About(repo, r, index))
	}
	for _, r := range records {
		if slices.ContainsFunc(about, r.IsAbout) && slices.Contains(personal, r.Kind) {
			found = append(found, r.Signed())
		}
	}
	return found
}

// About returns a decision that identifies a release. See [artifact.Decision.IsAbout].
func About(repo Reader, r provider.Release, index digest.Digest) artifact.Decision {
	about := NewDecision(repo, "", "", r.Address, r.Version)
	about.Index, about.Packages = index, artifact.PackageDigests(r.Packages)
	return about
}

// Signed returns the decision with its signature, which has not been verified.
func (r DecisionRecord) Signed() artifact.SignedDecision {
	return artifact.SignedDecision{Decision: r.Decision, Statement: r.Statement, Signature: r.Signature, Keys: r.Keys}
}

// CarryDecisions attaches the decisions about an earlier index to the index that replaces
// it, so that the version keeps its history. If the registry can't store referrers lists,
// CarryDecisions does nothing.
func CarryDecisions(ctx context.Context, repo Repository, records []DecisionRecord, index artifact.Blob) error {
	var packed []artifact.Referrer
	for _, r := range records {
		referrer, err := r.Signed().Repack(index.Descriptor)
		if err != nil {
			return err
		}
		packed = append(packed, referrer)
	}
	if _, err := attach(ctx, repo, packed, index); err != nil && !errors.Is(err, ErrNoReferrersList) {
		return fmt.Errorf("keeping the recorded decisions: %w", err)
	}
	return nil
}

// readDecision reads the documents that a decision's manifest refers to. reserve is
// called with their total size before they are read.
func readDecision(ctx context.Context, repo Reader, manifest []byte, reserve func(int64) error) (DecisionRecord, error) {
	r := DecisionRecord{Repository: repo.String()}
	m, err := artifact.ParseDecisionManifest(manifest)
	if err != nil {
		return r, err
	}
	r.Index = m.Index.Digest
	if err := reserve(m.Statement.Size + m.Signature.Size + m.Keys.Size); err != nil {
		return r, err
	}
	for _, layer := range []struct {
		into *[]byte
		from ocispec.Descriptor
	}{{&r.Statement, m.Statement}, {&r.Signature, m.Signature}, {&r.Keys, m.Keys}} {
		if layer.from.Digest == "" {
			continue
		}
		if *layer.into, err = DocumentAt(repo, layer.from, "").Read(ctx); err != nil {
			return r, err
		}
	}
	r.Decision, err = artifact.ParseDecision(r.Statement)
	return r, err
}

// DeniedError reports that a version is denied.
type DeniedError struct{ Record DecisionRecord }

func (e *DeniedError) Error() string { return fmt.Sprintf("version is denied: %s", e.Record) }

// Kind returns [provider.Conflict].
func (e *DeniedError) Kind() provider.ErrorKind { return provider.Conflict }

// CheckDenied returns a *[DeniedError] if a repository denies a version. It looks for
// the denial tag in the tag list, because this tag denies the version regardless of its
// content. If the credentials don't permit listing tags, or the registry has no tag
// list, CheckDenied requests the denial tag instead. For example, a proxy can serve
// tags that it doesn't list.
func CheckDenied(ctx context.Context, repo Reader, v provider.Version) error {
	tags, unlisted := repo.Tags(ctx)
	listed := slices.Contains(tags, artifact.DeniedTag(v))
	switch {
	case unlisted == nil && !listed:
		return nil
	case unlisted != nil && !isUnlisted(unlisted):
		return unlisted
	}
	record, exists, err := ReadDenial(ctx, repo, v)
	switch {
	case errors.Is(err, provider.ErrForbidden) && errors.Is(unlisted, provider.ErrForbidden):
		return unlisted
	case err != nil:
		return err
	case listed || exists:
		return &DeniedError{record}
	}
	return nil
}

// ReadDenial reads the denial of a version, and reports whether the denial tag exists.
// A tag that points to a damaged manifest also denies the version. If the reason is
// lost or damaged, the record contains a placeholder. ReadDenial returns an error if it
// can't read the repository.
func ReadDenial(ctx context.Context, repo Reader, v provider.Version) (r DecisionRecord, exists bool, err error) {
	tag := artifact.DeniedTag(v)
	d, data, err := repo.Manifest(ctx, tag)
	lost, isLost := errors.AsType[*DanglingTagError](err)
	switch exists, err = isFound(err); {
	case isLost:
		d, exists = lost.Index, true
	case isFinding(err):
		exists = true
	case err != nil && !errors.Is(err, errdef.ErrInvalidReference): // the version is too long for a tag with the prefix
		return r, false, err
	}
	r, err = readDecision(ctx, repo, data, func(int64) error { return nil })
	if r.Tag, r.Digest = tag, d.Digest; err != nil {
		r.Decision = artifact.Decision{Kind: artifact.DecisionDeny, Verdict: artifact.VerdictDeny, Reason: lostReason}
	}
	if isFinding(err) || errors.Is(err, ErrNoRepository) {
		err = nil // the tag denies the version even if its record is damaged
	}
	return r, exists, err
}

// ReadPending inspects the index that a version's pending tag points to. If the version
// is too long for a tag with the prefix, the result describes a missing tag.
func ReadPending(ctx context.Context, repo Reader, v provider.Version) (Inspection, error) {
	i, err := Inspect(ctx, repo, artifact.PendingTag(v), DepthIndex)
	if errors.Is(err, errdef.ErrInvalidReference) {
		err = nil
	}
	return i, err
}

// IsDenial reports whether the tag points to the manifest of a denial or to
// [artifact.EmptyIndex]. A denied version has such a tag if its registry doesn't delete
// tags.
func (i Inspection) IsDenial() bool {
	if _, err := artifact.ParseDecisionManifest(i.Bytes); err == nil {
		return true
	}
	manifests, blobs, err := artifact.Children(i.Bytes)
	return err == nil && len(manifests)+len(blobs) == 0
}

// Remove deletes the denial tag from repo. If it returns [ErrTagNotDeleted], the
// version is still denied.
func (r DecisionRecord) Remove(ctx context.Context, repo Repository) error {
	if err := deleteTag(ctx, repo, r.Tag, r.Digest); err != nil {
		return fmt.Errorf("version is still denied by the tag %s: %w", r.Tag, err)
	}
	return nil
}
