package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrNoReferrersList is returned for registries, such as GitLab's, that resolve a tag
// "sha256-HEX" to the manifest with that digest. A referrers list under that tag
// would replace the artifact itself, so no list is written.
var ErrNoReferrersList = provider.Errorf(provider.Refused, "registry resolves the referrers tag to the artifact itself, so it cannot store a referrers list")

// referrers contains the referrers of a manifest. They come from the referrers API or,
// if the repository doesn't have it, from the referrers tag and, in image layouts, the
// manifests without a tag. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#listing-referrers.
type referrers struct {
	entries []ocispec.Descriptor
	// byAPI reports whether the registry maintains the list itself.
	byAPI bool
	// list is the content of the referrers tag, or the zero value if the tag doesn't
	// exist.
	list artifact.Blob
	// untagged reports whether entries contains referrers that are not in list.
	untagged bool
}

// readReferrers returns the referrers of a manifest.
func readReferrers(ctx context.Context, repo Reader, subject digest.Digest) (referrers, error) {
	if ask := repo.Traits().Referrers; ask != nil {
		entries, supported, err := ask(ctx, subject)
		if supported || err != nil {
			return referrers{entries: entries, byAPI: true}, err
		}
	}
	known, err := taggedReferrers(ctx, repo, subject)
	if list := repo.Traits().UntaggedReferrers; list != nil && err == nil {
		var untagged []ocispec.Descriptor
		untagged, err = list(ctx, subject)
		for _, d := range untagged {
			if !known.has(d.Digest) {
				known.entries, known.untagged = append(known.entries, d), true
			}
		}
	}
	return known, err
}

// taggedReferrers returns the referrers in the list under the referrers tag.
func taggedReferrers(ctx context.Context, repo Reader, subject digest.Digest) (referrers, error) {
	d, data, err := repo.Manifest(ctx, artifact.ReferrersTag(subject))
	if exists, err := isFound(err); !exists {
		return referrers{}, err
	}
	if d.Digest == subject {
		return referrers{}, ErrNoReferrersList
	}
	entries, err := artifact.ParseReferrers(data)
	list := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: d.Digest, Size: int64(len(data))}
	return referrers{entries: entries, list: artifact.Blob{Descriptor: list, Bytes: data}}, err
}

// maxDocuments limits the number of referrers that are read to find documents. A
// release has only a few referrers.
const maxDocuments = 100

// Documents returns the documents that are attached to a manifest, such as SBOMs and
// provenance. They are sorted by name, because registries list them in any order.
// It omits other referrers, such as decisions and artifact signatures, and referrers
// whose manifests are missing. If the registry can't list referrers, Documents returns
// no documents.
func Documents(ctx context.Context, repo Reader, subject digest.Digest) ([]provider.Document, error) {
	entries, _, err := listReferrers(ctx, repo, subject)
	if err != nil {
		return nil, err
	}
	documents, _, err := readDocuments(ctx, repo, entries, subject)
	return documents, err
}

func sortDocuments(documents []provider.Document) []provider.Document {
	slices.SortStableFunc(documents, func(a, b provider.Document) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.MediaType, b.MediaType))
	})
	return documents
}

// listReferrers returns the entries in a manifest's referrers list. If the registry
// can't store referrers lists, it returns no entries. If the list is invalid, invalid
// contains the reason.
func listReferrers(ctx context.Context, repo Reader, subject digest.Digest) (entries []ocispec.Descriptor, invalid []error, err error) {
	known, err := readReferrers(ctx, repo, subject)
	switch {
	case errors.Is(err, ErrNoReferrersList):
		return nil, nil, nil
	case isFormat(err):
		return nil, []error{err}, nil
	case err != nil:
		return nil, nil, fmt.Errorf("listing the referrers of %s: %w", subject, err)
	}
	return known.entries, nil, nil
}

// readDocuments returns the documents in a referrers list, sorted by name. lost contains
// the reasons documents can't be read.
func readDocuments(ctx context.Context, repo Reader, entries []ocispec.Descriptor, subject digest.Digest) (documents []provider.Document, lost []error, err error) {
	entries = slices.DeleteFunc(slices.Clone(entries), func(d ocispec.Descriptor) bool {
		return d.Digest.Validate() != nil || !artifact.MayBeDocument(d)
	})
	if len(entries) > maxDocuments {
		return nil, nil, fmt.Errorf("listing the referrers of %s: %d referrers exceed the limit of %d", subject, len(entries), maxDocuments)
	}
	for _, d := range entries {
		var layer ocispec.Descriptor
		_, data, err := repo.Manifest(ctx, d.Digest.String())
		if err == nil {
			layer, err = artifact.ParseDocument(data)
		}
		switch {
		case isFormat(err) || errors.Is(err, ErrNotFound):
			if len(d.Annotations) > 0 { // otherwise, it can be the artifact of another tool
				lost = append(lost, fmt.Errorf("the referrer %s: %w", titleOf(d), err))
			}
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("reading the referrer %s: %w", titleOf(d), err)
		}
		document := DocumentAt(repo, layer, "")
		document.Scope = provider.ScopeRelease
		documents = append(documents, document)
	}
	return sortDocuments(documents), lost, nil
}

// maxAttestations limits the total size in bytes of a package's attestations and the
// manifests that are read to find them.
const maxAttestations = 2 * artifact.MaxBundleSize

// Attestations returns the Sigstore bundles about a zip that refer to the manifest of
// its platform. Registries and other tools can set wrong artifact types, so Attestations
// reads all referrers, and returns the bundles that contain the digest of the zip. It
// doesn't verify signatures. lost describes bundles that are missing or damaged. If the
// registry can't list referrers, Attestations returns no bundles.
func Attestations(ctx context.Context, repo Reader, manifest digest.Digest, zip provider.Package) (found []provider.Document, lost []error, err error) {
	entries, lost, err := listReferrers(ctx, repo, manifest)
	if err == nil && len(entries) > maxDocuments {
		err = provider.Errorf(provider.Refused, "listing the referrers of %s: %d referrers exceed the limit of %d", manifest, len(entries), maxDocuments)
	}
	if err != nil {
		return nil, nil, err
	}
	seen, left := map[digest.Digest]bool{}, int64(maxAttestations)
	for _, d := range entries {
		if d.Digest.Validate() != nil {
			continue
		}
		document, err := readAttestation(ctx, repo, d.Digest, manifest, zip, &left)
		switch {
		case isFinding(err):
			lost = append(lost, fmt.Errorf("the referrer %s: %w", d.Digest, err))
		case err != nil:
			return nil, nil, fmt.Errorf("reading the referrer %s: %w", d.Digest, err)
		case document.Bytes != nil && !seen[document.Digest]:
			seen[document.Digest] = true
			found = append(found, document)
		}
	}
	return sortDocuments(found), lost, nil
}

// readAttestation reads a referrer. If it isn't a Sigstore bundle about the zip,
// readAttestation returns the zero value. left is the remaining limit in bytes.
func readAttestation(ctx context.Context, repo Reader, referrer, subject digest.Digest, zip provider.Package, left *int64) (provider.Document, error) {
	_, data, err := repo.Manifest(ctx, referrer.String())
	if err != nil {
		return provider.Document{}, err
	}
	layer, err := artifact.ParseReferrer(data)
	if err != nil || layer.MediaType != artifact.MediaTypeSigstore || !artifact.RefersTo(data, subject) {
		return provider.Document{}, nil //nolint:nilerr // the artifact of another tool
	}
	if *left -= int64(len(data)) + layer.Size; *left < 0 || layer.Size > artifact.MaxBundleSize {
		return provider.Document{}, provider.Errorf(provider.Refused, "attestations for %s exceed %d bytes", zip.Filename, maxAttestations)
	}
	layer.Annotations = map[string]string{ocispec.AnnotationTitle: artifact.AttestationName(zip.Filename, layer.Digest)}
	document := DocumentAt(repo, layer, "")
	content, err := document.Read(ctx)
	if err != nil {
		return provider.Document{}, err
	}
	if bundle, err := artifact.ParseBundle(content); err != nil || !bundle.Covers(zip.Digest) {
		return provider.Document{}, nil //nolint:nilerr // for example, cosign's signature of the manifest
	}
	return document.WithBytes(content), nil
}

func isFormat(err error) bool {
	_, is := errors.AsType[*artifact.FormatError](err)
	return is
}

// Attach attaches documents to the manifest that subject describes, and returns the
// names of the newly attached documents. It skips a document if a document with the
// same digest, or with the same name and type, is already attached.
func Attach(ctx context.Context, repo Repository, documents []provider.Document, subject ocispec.Descriptor) (attached []string, err error) {
	return AttachTo(ctx, repo, documents, artifact.Blob{Descriptor: subject})
}

// AttachTo is like [Attach] for an index that might not be in the repository yet. If the
// repository needs the index first, AttachTo pushes it. The referrers of an index can then
// be complete before a tag points to it.
func AttachTo(ctx context.Context, repo Repository, documents []provider.Document, index artifact.Blob) (attached []string, err error) {
	return attachDocuments(ctx, repo, documents, index, artifact.PackReferrer)
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

// attach attaches referrers to a manifest. subject contains the manifest's bytes if it
// might not be in the repository.
func attach(ctx context.Context, repo Repository, packed []artifact.Referrer, subject artifact.Blob) (attached []string, err error) {
	if len(packed) == 0 {
		return nil, nil
	}
	// 1. Read the existing referrers.
	known, err := readReferrers(ctx, repo, subject.Descriptor.Digest)
	if err != nil {
		return nil, fmt.Errorf("attaching %s: %w", packed[0].Document.Name, err)
	}
	// 2. Push the missing documents. Most registries with the referrers API accept referrers
	// of a missing manifest. Registries without it, such as GitLab's, can resolve the tag of
	// the list to the manifest, so the list must not be written before the manifest.
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
	// 3. Add them to the referrers list.
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
	retrier := transfer.Retrier{Backoff: repo.Traits().Backoff}
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

// hasManifest reports whether the manifest of an entry exists. Cleanup jobs might have
// deleted manifests that have no tag.
func hasManifest(ctx context.Context, repo Reader, d ocispec.Descriptor) (bool, error) {
	_, _, err := repo.Manifest(ctx, d.Digest.String())
	return isFound(err)
}
