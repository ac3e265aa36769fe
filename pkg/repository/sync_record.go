package repository

import (
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// ReadSyncRecord reads the sync record of a repository. If the record is missing or
// damaged, or if the repository doesn't exist, the result is empty. Its maps are never
// nil.
func ReadSyncRecord(ctx context.Context, repo Reader) (artifact.SyncRecord, error) {
	record, _, err := readSyncRecord(ctx, repo, artifact.SyncTag)
	return record, err
}

// readSyncRecord is like [ReadSyncRecord], but also returns the digest of the manifest
// that the record's tag points to.
func readSyncRecord(ctx context.Context, repo Reader, tag string) (artifact.SyncRecord, digest.Digest, error) {
	i, err := Inspect(ctx, repo, tag, DepthIndex)
	if err != nil && !isFinding(err) {
		return artifact.SyncRecord{}, "", fmt.Errorf("reading the sync record of %s: %w", repo, err)
	}
	record, _ := artifact.ParseSyncRecord(i.Bytes) // a damaged record is treated as an empty record
	return record.Clone(), i.Digest, nil
}

// WriteSyncRecord changes the sync record of a repository with edit. If another run has
// changed the record, WriteSyncRecord calls edit again. If edit changes nothing,
// nothing is written. In registries, another run can still overwrite the record later.
// Dates are then lost, and the periods that depend on them start again.
func WriteSyncRecord(ctx context.Context, repo Repository, edit func(*artifact.SyncRecord)) error {
	return WriteSyncRecordTo(ctx, repo, artifact.SyncTag, edit)
}

// WriteSyncRecordTo is like [WriteSyncRecord], but changes the record under the given tag,
// for example to find out whether the registry accepts sync records.
func WriteSyncRecordTo(ctx context.Context, repo Repository, tag string, edit func(*artifact.SyncRecord)) error {
	err := ErrTagMoved
	for moves := 0; moves < maxMerges && errors.Is(err, ErrTagMoved); moves++ {
		var record artifact.SyncRecord
		var was digest.Digest
		if record, was, err = readSyncRecord(ctx, repo, tag); err != nil {
			return err
		}
		before := record.Clone()
		if edit(&record); record.Equal(before) {
			return nil
		}
		err = pushSyncRecord(ctx, repo, record, tag, was)
	}
	if err != nil {
		return fmt.Errorf("writing the sync record of %s: %w", repo, err)
	}
	return nil
}

func pushSyncRecord(ctx context.Context, repo Repository, record artifact.SyncRecord, tag string, was digest.Digest) error {
	manifest, config, err := record.Pack()
	if err != nil {
		return err
	}
	err = pushMissing(ctx, repo, transfer.Retrier{Backoff: repo.Capabilities().Backoff}, config)
	if err != nil {
		return err
	}
	_, err = pushAccepted(manifest, func(m artifact.Blob) error { return repo.PushTag(ctx, m, tag, was) })
	return err
}
