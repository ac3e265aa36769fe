package artifact

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// SyncTag is the tag of a repository's sync record. OpenTofu ignores it.
	SyncTag = "tofu-oci-sync"

	annotationUnwanted = annotationPrefix + "unwanted."
	annotationPruned   = annotationPrefix + "pruned."
	// maxSyncDates is the maximum number of dates in a sync record. The largest known
	// provider has fewer than 1,000 versions.
	maxSyncDates = 4096
)

// SyncRecord contains the dates that pruning needs. A repository has at most one
// record, under [SyncTag]. If the record is lost, the waiting periods start again, so
// versions are kept longer.
type SyncRecord struct {
	// Unwanted maps released versions to the dates on which the declaration stopped
	// selecting them.
	Unwanted map[provider.Version]time.Time
	// Pruned maps versions to the dates on which they were pruned. See [PrunedTag].
	Pruned map[provider.Version]time.Time
}

// Pack builds the manifest of a record. The manifest refers only to config, which must
// be pushed first. Equal records have identical bytes. Dates are truncated to seconds.
func (r SyncRecord) Pack() (manifest Blob, config provider.Document, err error) {
	if n := len(r.Unwanted) + len(r.Pruned); n > maxSyncDates {
		return manifest, config, fmt.Errorf("sync record has %d dates; the maximum is %d", n, maxSyncDates)
	}
	annotations := map[string]string{annotationRecord: recordSync}
	for prefix, dates := range map[string]map[provider.Version]time.Time{annotationUnwanted: r.Unwanted, annotationPruned: r.Pruned} {
		for v, date := range dates {
			annotations[prefix+Tag(v)] = date.UTC().Format(time.RFC3339)
		}
	}
	manifest, err = marshal(ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: typeRecord,
		Config:       ocispec.DescriptorEmptyJSON,
		Layers:       []ocispec.Descriptor{ocispec.DescriptorEmptyJSON},
		Annotations:  annotations,
	}, ocispec.MediaTypeImageManifest, typeRecord)
	return manifest, emptyConfig(), err
}

// ParseSyncRecord parses the manifest of a sync record. It ignores invalid versions and
// dates, and annotations from other tools. For other content, it returns a
// *[FormatError].
func ParseSyncRecord(data []byte) (SyncRecord, error) {
	doc, err := parseDocument(data)
	if err != nil {
		return SyncRecord{}, err
	}
	if doc.MediaType != ocispec.MediaTypeImageManifest || !isRecord(doc.ArtifactType, doc.Annotations, recordSync) {
		return SyncRecord{}, formatError("expected a sync record, got %s", describe(doc))
	}
	r := SyncRecord{Unwanted: parseDates(doc.Annotations, annotationUnwanted), Pruned: parseDates(doc.Annotations, annotationPruned)}
	if n := len(r.Unwanted) + len(r.Pruned); n > maxSyncDates {
		return SyncRecord{}, formatError("sync record has %d dates; the maximum is %d", n, maxSyncDates)
	}
	return r, nil
}

func parseDates(annotations map[string]string, prefix string) map[provider.Version]time.Time {
	dates := map[provider.Version]time.Time{}
	for key, text := range annotations {
		tag, found := strings.CutPrefix(key, prefix)
		v, isVersion := ParseTag(tag)
		date, err := time.Parse(time.RFC3339, text)
		if found && isVersion && err == nil && !date.IsZero() {
			dates[v] = date.UTC()
		}
	}
	return dates
}

// Clone returns a copy of the record without nil maps.
func (r SyncRecord) Clone() SyncRecord {
	c := SyncRecord{Unwanted: map[provider.Version]time.Time{}, Pruned: map[provider.Version]time.Time{}}
	maps.Copy(c.Unwanted, r.Unwanted)
	maps.Copy(c.Pruned, r.Pruned)
	return c
}

// Equal reports whether two records contain the same versions and dates.
func (r SyncRecord) Equal(other SyncRecord) bool {
	return maps.EqualFunc(r.Unwanted, other.Unwanted, time.Time.Equal) && maps.EqualFunc(r.Pruned, other.Pruned, time.Time.Equal)
}
