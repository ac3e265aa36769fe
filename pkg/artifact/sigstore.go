package artifact

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxBundleValues is the maximum number of JSON values in a Sigstore bundle, and in the
// subjects of its statement. GitHub allows 1,024 subjects.
const maxBundleValues = 32 << 10

// MaxBundleSize is the maximum size of a Sigstore bundle in bytes. A bundle with
// provenance is about 10 kB, and a bundle with an SBOM can be a few megabytes.
const MaxBundleSize = 16 << 20

// Annotations of referrers that contain Sigstore bundles, as written by cosign 3.
const (
	annotationBundleContent       = "dev.sigstore.bundle.content"
	annotationBundlePredicateType = "dev.sigstore.bundle.predicateType"
)

// Bundle describes the unverified content of a Sigstore bundle.
type Bundle struct {
	// PredicateType is the type of an attestation's predicate. It is empty for a
	// signature without an attestation.
	PredicateType string

	content  string
	subjects map[digest.Digest]bool
}

// Covers reports whether the bundle contains a statement or a signature for content
// with the given digest. It doesn't verify the signature.
func (b Bundle) Covers(d digest.Digest) bool { return b.subjects[d] }

// ParseBundle parses a Sigstore bundle of version 0.3. The bundle must contain an
// in-toto statement in a DSSE envelope, or a signature of a SHA-256 digest. ParseBundle
// doesn't verify signatures.
func ParseBundle(data []byte) (Bundle, error) {
	var raw struct {
		MediaType string `json:"mediaType"`
		Envelope  *struct {
			Payload []byte `json:"payload"`
			Type    string `json:"payloadType"`
		} `json:"dsseEnvelope"`
		Signature *struct {
			Digest struct {
				Algorithm string `json:"algorithm"`
				Digest    []byte `json:"digest"`
			} `json:"messageDigest"`
		} `json:"messageSignature"`
	}
	if len(data) > MaxBundleSize {
		return Bundle{}, fmt.Errorf("the Sigstore bundle exceeds %d bytes", MaxBundleSize)
	}
	if err := bounded.DecodeJSON(data, &raw, maxBundleValues); err != nil {
		return Bundle{}, fmt.Errorf("invalid Sigstore bundle: %w", err)
	}
	b := Bundle{subjects: map[digest.Digest]bool{}}
	switch signed := raw.Signature; {
	case raw.MediaType != MediaTypeSigstore:
		return b, fmt.Errorf("unsupported Sigstore bundle: media type %q, want %s", clip(raw.MediaType), MediaTypeSigstore)
	case signed != nil && raw.Envelope == nil:
		if signed.Digest.Algorithm == "SHA2_256" {
			b.subjects[digest.NewDigestFromEncoded(digest.SHA256, hex.EncodeToString(signed.Digest.Digest))] = true
		}
		b.content = "message-signature"
		return b, nil
	case raw.Envelope == nil || raw.Envelope.Type != "application/vnd.in-toto+json":
		return b, fmt.Errorf("the Sigstore bundle contains neither an in-toto statement nor a signature")
	}
	// The predicate can be an SBOM with any number of values, so only the subjects are
	// limited.
	var statement struct {
		PredicateType string   `json:"predicateType"`
		Subject       subjects `json:"subject"`
	}
	if err := json.Unmarshal(raw.Envelope.Payload, &statement); err != nil {
		return b, fmt.Errorf("invalid in-toto statement: %w", bounded.JSONError(err))
	}
	for _, subject := range statement.Subject {
		b.subjects[digest.NewDigestFromEncoded(digest.SHA256, subject.Digest.SHA256)] = true
	}
	b.PredicateType, b.content = statement.PredicateType, "dsse-envelope"
	return b, nil
}

// subjects lists the content that an in-toto statement is about.
type subjects []struct {
	Digest struct {
		SHA256 string `json:"sha256"`
	} `json:"digest"`
}

// UnmarshalJSON returns an error if the list has too many values.
func (s *subjects) UnmarshalJSON(data []byte) error {
	type plain subjects
	return bounded.DecodeJSON(data, (*plain)(s), maxBundleValues)
}

// AttestationName returns the file name for a Sigstore bundle about a zip. The
// manifests of such bundles contain no names.
func AttestationName(zip string, bundle digest.Digest) string {
	return fmt.Sprintf("%s.%.12s.sigstore.json", zip, bundle.Encoded())
}

// PackAttestation builds a referrer for a Sigstore bundle about a package. subject is
// the manifest of the package's platform. The referrer has the format of cosign 3,
// without a date, so equal input results in identical bytes. The document's content
// must be in memory.
func PackAttestation(document provider.Document, subject ocispec.Descriptor) (Referrer, error) {
	bundle, err := ParseBundle(document.Bytes)
	if err == nil {
		err = checkDocument(document)
	}
	if err != nil {
		return Referrer{}, err
	}
	annotations := map[string]string{annotationBundleContent: bundle.content}
	if bundle.PredicateType != "" {
		annotations[annotationBundlePredicateType] = bundle.PredicateType
	}
	config := ocispec.DescriptorEmptyJSON
	config.Data, config.ArtifactType = nil, document.MediaType
	layer := ocispec.Descriptor{MediaType: document.MediaType, Digest: document.Digest, Size: document.Size}
	return packReferrer(document, subject, config, []ocispec.Descriptor{layer}, annotations)
}
