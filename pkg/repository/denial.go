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

// lostReason stands for a reason that can't be read.
const lostReason = "the reason is lost"

// DenialRecord describes a denial as a repository stores it.
type DenialRecord struct {
	artifact.Denial
	// Repository is the repository that denies the version, in the form of its String
	// method.
	Repository string
	// Tag is the tag of the denial, and Digest the manifest that it points to. Digest is
	// empty if the registry lists the tag but doesn't have it.
	Tag    string
	Digest digest.Digest
	// Index is the index that was denied, which the registry may have collected as
	// garbage. It is empty if the record is lost or damaged.
	Index digest.Digest
}

// MarshalText returns the reason, and who decided.
func (r DenialRecord) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// DeniedError reports that a version is denied.
type DeniedError struct{ Record DenialRecord }

func (e *DeniedError) Error() string { return fmt.Sprintf("the version is denied: %s", e.Record) }

// Kind is [provider.Conflict].
func (e *DeniedError) Kind() provider.ErrorKind { return provider.Conflict }

// CheckDenied returns a *[DeniedError] if a repository denies a version. The list of tags
// decides, because the tag of a denial denies the version whatever it points to. If the
// login isn't allowed to list tags, or the registry has no list, CheckDenied requests the
// tag of the denial: a proxy can have the tags of a repository that it doesn't list.
func CheckDenied(ctx context.Context, repo Reader, v provider.Version) error {
	tags, err := repo.Tags(ctx)
	switch {
	case errors.Is(err, provider.ErrDenied):
		if now := CheckDeniedNow(ctx, repo, v); !errors.Is(now, provider.ErrDenied) {
			return now
		}
		return err
	case errors.Is(err, ErrNoRepository), errors.Is(err, ErrNotFound):
		return CheckDeniedNow(ctx, repo, v)
	case err != nil:
		return err
	case !slices.Contains(tags, artifact.DeniedTag(v)):
		return nil
	}
	record, err := ReadDenial(ctx, repo, v)
	if err != nil {
		return err
	}
	return &DeniedError{record}
}

// CheckDeniedNow is like [CheckDenied], but always requests the tag of the denial. It is
// used before a tag is written, when a list of tags may be out of date.
func CheckDeniedNow(ctx context.Context, repo Reader, v provider.Version) error {
	i, there, err := denialOf(ctx, repo, v)
	if err != nil || !there {
		return err
	}
	record, err := readDenial(ctx, repo, i)
	if err != nil {
		return err
	}
	return &DeniedError{record}
}

// ReadDenial reads the reason why a version is denied. If the reason is lost or damaged,
// the record says so; an error means that the repository could not be read.
func ReadDenial(ctx context.Context, repo Reader, v provider.Version) (DenialRecord, error) {
	i, _, err := denialOf(ctx, repo, v)
	if err != nil {
		return DenialRecord{}, err
	}
	return readDenial(ctx, repo, i)
}

// denialOf inspects the tag of a denial. It exists even if its manifest is damaged, and
// can't exist in a registry if the version is too long for a tag with that prefix.
func denialOf(ctx context.Context, repo Reader, v provider.Version) (i Inspection, there bool, err error) {
	i, err = Inspect(ctx, repo, artifact.DeniedTag(v), DepthIndex)
	switch {
	case isFinding(err):
		return i, true, nil
	case errors.Is(err, errdef.ErrInvalidReference):
		return i, false, nil
	}
	return i, i.Exists(), err
}

func readDenial(ctx context.Context, repo Reader, i Inspection) (DenialRecord, error) {
	r := DenialRecord{Denial: artifact.Denial{Reason: lostReason}, Repository: repo.String(), Tag: i.Tag, Digest: i.Digest}
	index, document, err := artifact.ParseDenialManifest(i.Bytes)
	if err != nil {
		return r, nil //nolint:nilerr // the tag denies the version anyway
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
	return r, err
}

// IsDenial reports whether a tag points to the manifest of a denial.
func (i Inspection) IsDenial() bool {
	_, _, err := artifact.ParseDenialManifest(i.Bytes)
	return err == nil
}

// RemoveDenial deletes the tag of a denial. If it returns [ErrTagStays], the version is
// still denied.
func RemoveDenial(ctx context.Context, repo Repository, r DenialRecord) error {
	err := ErrTagStays
	if untag := repo.Traits().Untag; untag != nil {
		err = untag(ctx, r.Tag, r.Digest)
	}
	if err != nil {
		return fmt.Errorf("the version is still denied, by the tag %s: %w", r.Tag, err)
	}
	return nil
}
