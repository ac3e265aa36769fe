package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/errdef"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// lostReason replaces a reason that can't be read.
const lostReason = "reason unavailable"

// DenialRecord describes a denial as a repository stores it.
type DenialRecord struct {
	artifact.Denial
	// Repository is the name of the repository that denies the version, as returned by
	// its String method.
	Repository string
	// Tag is the tag of the denial. Digest is the digest of the manifest that the tag
	// points to. Digest is empty if the registry lists the tag but can't find the
	// manifest.
	Tag    string
	Digest digest.Digest
	// Index is the digest of the denied index, which the registry might have
	// garbage-collected. Index is empty if the record is lost or damaged.
	Index digest.Digest
}

// MarshalText returns the result of String.
func (r DenialRecord) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// DeniedError reports that a version is denied.
type DeniedError struct{ Record DenialRecord }

func (e *DeniedError) Error() string { return fmt.Sprintf("version is denied: %s", e.Record) }

// Kind returns [provider.Conflict].
func (e *DeniedError) Kind() provider.ErrorKind { return provider.Conflict }

// CheckDenied returns a *[DeniedError] if a repository denies a version. It looks for
// the tag of the denial in the list of tags, because this tag denies the version
// regardless of what the tag points to. If the credentials don't allow listing tags, or
// the registry has no list, CheckDenied requests the tag instead. For example, a proxy
// can serve tags that it doesn't list.
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
	case errors.Is(err, provider.ErrDenied) && errors.Is(unlisted, provider.ErrDenied):
		return unlisted
	case err != nil:
		return err
	case listed || exists:
		return &DeniedError{record}
	}
	return nil
}

// CheckDeniedNow is like [CheckDenied], but always requests the tag of the denial. Use
// it before writing a tag, because a list of tags can be out of date.
func CheckDeniedNow(ctx context.Context, repo Reader, v provider.Version) error {
	record, exists, err := ReadDenial(ctx, repo, v)
	if err != nil || !exists {
		return err
	}
	return &DeniedError{record}
}

// ReadDenial reads the denial of a version, and reports whether the denial's tag
// exists. A tag with a damaged manifest also denies the version. If the reason is lost
// or damaged, the record contains a placeholder. ReadDenial returns an error if it
// can't read the repository.
func ReadDenial(ctx context.Context, repo Reader, v provider.Version) (r DenialRecord, exists bool, err error) {
	i, err := Inspect(ctx, repo, artifact.DeniedTag(v), DepthIndex)
	switch {
	case isFinding(err):
		exists = true
	case errors.Is(err, errdef.ErrInvalidReference): // the version is too long for a tag with the prefix
	case err != nil:
		return r, false, err
	default:
		exists = i.Exists()
	}
	r = DenialRecord{Denial: artifact.Denial{Reason: lostReason}, Repository: repo.String(), Tag: i.Tag, Digest: i.Digest}
	index, document, err := artifact.ParseDenialManifest(i.Bytes)
	if err != nil {
		return r, exists, nil //nolint:nilerr // the tag denies the version even if its manifest is damaged
	}
	r.Index = index.Digest
	content, err := DocumentAt(repo, document, "").Read(ctx)
	if err == nil {
		var denial artifact.Denial
		if denial, err = artifact.ParseDenial(content); err == nil {
			r.Denial = denial
		}
	}
	if isFinding(err) || errors.Is(err, ErrNoRepository) {
		err = nil
	}
	return r, exists, err
}

// IsDenial reports whether a tag points to the manifest of a denial.
func (i Inspection) IsDenial() bool {
	_, _, err := artifact.ParseDenialManifest(i.Bytes)
	return err == nil
}

// Remove deletes the denial's tag from repo. If it returns [ErrTagNotDeleted], the
// version is still denied.
func (r DenialRecord) Remove(ctx context.Context, repo Repository) error {
	if err := deleteTag(ctx, repo, r.Tag, r.Digest); err != nil {
		return fmt.Errorf("version is still denied by the tag %s: %w", r.Tag, err)
	}
	return nil
}
