package repository

import (
	"context"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxAttestations limits the total size in bytes of a package's attestations and the
// manifests that are read to find them.
const maxAttestations = 2 * artifact.MaxBundleSize

// Attestations returns the Sigstore bundles about a zip that refer to the manifest of
// its platform. Registries and other tools report wrong artifact types, so Attestations
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
// readAttestation returns the zero value. left is the number of bytes that can be read.
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
		return provider.Document{}, provider.Errorf(provider.Refused, "attestations of %s exceed %d bytes", zip.Filename, maxAttestations)
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
