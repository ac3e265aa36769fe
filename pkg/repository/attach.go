package repository

import (
	"context"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Attach attaches documents to a manifest, and returns the names of the newly attached
// documents. It skips a document if a document with the same digest, or with the same
// name and type, is already attached. If the manifest might not be in the repository
// yet, subject must contain its bytes. Attach then pushes the manifest if the
// repository requires it before its referrers. So the referrers of an index can be
// complete before a tag points to the index.
func Attach(ctx context.Context, repo Repository, documents []provider.Document, subject artifact.Blob) (attached []string, err error) {
	return attachDocuments(ctx, repo, documents, subject, artifact.PackReferrer)
}

// AttachAttestations attaches Sigstore bundles about a package to the manifest for its
// platform, in the format of cosign 3. It returns the names of the newly attached
// bundles.
func AttachAttestations(ctx context.Context, repo Repository, bundles []provider.Document, manifest ocispec.Descriptor) (attached []string, err error) {
	return attachDocuments(ctx, repo, bundles, artifact.Blob{Descriptor: manifest}, artifact.PackAttestation)
}

func attachDocuments(ctx context.Context, repo Repository, documents []provider.Document, subject artifact.Blob, pack func(provider.Document, ocispec.Descriptor) (artifact.Referrer, error)) (attached []string, err error) {
	var packed []artifact.Referrer
	for _, document := range documents {
		referrer, err := pack(document, subject.Descriptor)
		if err != nil {
			return nil, fmt.Errorf("attaching %s: %w", document.Name, err)
		}
		packed = append(packed, referrer)
	}
	return attach(ctx, repo, packed, subject)
}

// attach attaches referrers to a manifest. subject contains the manifest's bytes if the
// manifest might not be in the repository.
func attach(ctx context.Context, repo Repository, packed []artifact.Referrer, subject artifact.Blob) (attached []string, err error) {
	if len(packed) == 0 {
		return nil, nil
	}
	// 1. Read the existing referrers.
	known, err := readReferrers(ctx, repo, subject.Descriptor.Digest)
	if err != nil {
		return nil, fmt.Errorf("attaching %s: %w", packed[0].Document.Name, err)
	}
	// 2. Push the missing documents. Most registries with the referrers API accept
	// referrers of a missing manifest. Registries without this API, such as GitLab's,
	// can resolve the tag of the list to the manifest, so the list must not be written
	// before the manifest.
	isSent := subject.Bytes == nil
	if !isSent && !known.byAPI {
		if err := repo.PushManifest(ctx, subject); err != nil {
			return nil, fmt.Errorf("attaching %s: %w", packed[0].Document.Name, err)
		}
		isSent = true
	}
	var entries []ocispec.Descriptor
	for _, referrer := range packed {
		entry, isNew, err := store(ctx, repo, referrer, known)
		if !isSent && IsPermanent(err) {
			if isSent, err = true, repo.PushManifest(ctx, subject); err == nil {
				entry, isNew, err = store(ctx, repo, referrer, known)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("attaching %s: %w", referrer.Document.Name, err)
		}
		if isNew {
			entries = append(entries, entry)
			attached = append(attached, referrer.Document.Name)
		}
	}
	// 3. Add the new referrers to the list.
	if known.byAPI || len(entries) == 0 {
		return attached, nil
	}
	list := referrersList{repo: repo, subject: subject.Descriptor.Digest}
	if err := list.add(ctx, entries, known); err != nil {
		return nil, fmt.Errorf("attaching %s: %w", packed[0].Document.Name, err)
	}
	return attached, nil
}

// store pushes the documents and the manifest of a referrer, unless its document is
// already listed and the manifest exists. It returns the entry for the referrers list.
func store(ctx context.Context, repo Repository, referrer artifact.Referrer, known referrers) (entry ocispec.Descriptor, isNew bool, err error) {
	title := referrer.Document.Name
	for _, d := range known.entries {
		if d.Digest != referrer.Entry.Digest && (d.ArtifactType != referrer.Document.MediaType || d.Annotations[ocispec.AnnotationTitle] != title) {
			continue
		}
		if exists, err := hasManifest(ctx, repo, d); exists || err != nil {
			return entry, false, err
		}
	}
	retrier := transfer.Retrier{Backoff: repo.Capabilities().Backoff}
	for _, d := range referrer.Documents() {
		if err := pushDocument(ctx, repo, retrier, d); err != nil {
			return entry, false, err
		}
	}
	stored, err := pushAccepted(referrer.Manifest, func(m artifact.Blob) error { return repo.PushManifest(ctx, m) })
	entry = referrer.Entry
	entry.Digest, entry.Size = stored.Descriptor.Digest, stored.Descriptor.Size
	return entry, true, err
}
