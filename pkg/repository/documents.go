package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/sigstore"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// DocumentAt returns the document in a layer. The document's content is read from the
// repository when it is opened. If the layer is a SHA256SUMS file without a title,
// sumsName is used as its name.
func DocumentAt(repo Reader, layer ocispec.Descriptor, sumsName string) provider.Document {
	document := artifact.DocumentOf(layer, sumsName)
	document.Content = func(ctx context.Context) (io.ReadCloser, error) {
		body, err := Verified(ctx, repo, layer, document.Name)
		if err != nil {
			return nil, fmt.Errorf("fetching %s: %w", document.Name, err)
		}
		return body, nil
	}
	return document
}

// maxDocuments limits the number of referrers that are read to find documents. A
// release has only a few referrers.
const maxDocuments = 100

// Documents returns the documents that are attached to a manifest, such as SBOMs and
// provenance. They are sorted by name, because registries list them in any order.
// Documents omits other referrers, such as decisions and artifact signatures, and
// referrers whose manifests are missing. If the registry can't list referrers,
// Documents returns no documents.
func Documents(ctx context.Context, repo Reader, subject digest.Digest) ([]provider.Document, error) {
	found, _, err := listReferrers(ctx, repo, subject)
	if err != nil {
		return nil, err
	}
	documents, _, err := readDocuments(ctx, repo, found.entries, subject)
	return documents, err
}

func sortDocuments(documents []provider.Document) []provider.Document {
	slices.SortStableFunc(documents, func(a, b provider.Document) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.MediaType, b.MediaType))
	})
	return documents
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

// maxAttestationsBytes limits the total size in bytes of a package's attestations and the
// manifests that are read to find them.
const maxAttestationsBytes = 2 * sigstore.MaxSize

// Attestations returns the Sigstore bundles about a zip that refer to the manifest of
// its platform. Registries and other tools can set wrong artifact types, so
// Attestations reads all referrers and returns the bundles that contain the digest of
// the zip. It doesn't verify signatures. lost describes bundles that are missing or
// damaged. If the registry can't list referrers, Attestations returns no bundles.
func Attestations(ctx context.Context, repo Reader, manifest digest.Digest, zip provider.Package) (found []provider.Document, lost []error, err error) {
	list, lost, err := listReferrers(ctx, repo, manifest)
	if n := len(list.entries); err == nil && n > maxDocuments {
		err = provider.Errorf(provider.Refused, "listing the referrers of %s: %d referrers exceed the limit of %d", manifest, n, maxDocuments)
	}
	if err != nil {
		return nil, nil, err
	}
	seen, left := map[digest.Digest]bool{}, int64(maxAttestationsBytes)
	for _, d := range list.entries {
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
	if *left -= int64(len(data)) + layer.Size; *left < 0 || layer.Size > sigstore.MaxSize {
		return provider.Document{}, provider.Errorf(provider.Refused, "attestations for %s exceed %d bytes", zip.Filename, maxAttestationsBytes)
	}
	layer.Annotations = map[string]string{ocispec.AnnotationTitle: artifact.AttestationName(zip.Filename, layer.Digest)}
	document := DocumentAt(repo, layer, "")
	content, err := document.Read(ctx)
	if err != nil {
		return provider.Document{}, err
	}
	if bundle, err := sigstore.Parse(content); err != nil || !bundle.Covers(zip.Digest) {
		return provider.Document{}, nil //nolint:nilerr // for example, cosign's signature of the manifest
	}
	return document.WithBytes(content), nil
}

// Referrers contains the referrers of an index.
type Referrers struct {
	// Documents contains the same documents as [Documents].
	Documents []provider.Document
	// Decisions contains the recorded decisions, oldest first.
	Decisions []DecisionRecord
	// Lost contains the problems that [Documents] ignores: an invalid referrers list,
	// documents that are missing or differ from the list, and too many decisions.
	Lost []error
}

// ReadReferrers reads the referrers of an index. It reads the referrers list once.
func ReadReferrers(ctx context.Context, repo Reader, index digest.Digest) (r Referrers, err error) {
	list, invalid, err := listReferrers(ctx, repo, index)
	if err != nil {
		return r, err
	}
	r.Documents, r.Lost, err = readDocuments(ctx, repo, list.entries, index)
	r.Lost = append(r.Lost, invalid...)
	if err != nil {
		return r, err
	}
	for _, d := range r.Documents {
		exists, err := hasBlob(ctx, repo, ocispec.Descriptor{Digest: d.Digest, Size: d.Size})
		if err != nil {
			return r, err
		}
		if !exists {
			r.Lost = append(r.Lost, fmt.Errorf("the document %s is missing or damaged: %w", d.Name, ErrNotFound))
		}
	}
	for _, kinds := range [][]string{personal, {artifact.DecisionGate}} {
		found, err := readDecisions(ctx, repo, list.entries, index, kinds...)
		if errors.Is(err, errFlood) {
			r.Lost, err = append(r.Lost, err), nil
		}
		if err != nil {
			return r, err
		}
		r.Decisions = append(r.Decisions, found...)
	}
	sortDecisions(r.Decisions)
	return r, nil
}
