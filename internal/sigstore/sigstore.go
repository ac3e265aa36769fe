// Package sigstore parses Sigstore bundles, which cosign and GitHub use for signatures and
// attestations. It doesn't verify signatures.
package sigstore

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

// MediaType is the media type of the supported bundles.
const MediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// maxValues is the maximum number of JSON values in a Sigstore bundle, and in the
// subjects of its statement. GitHub allows 1,024 subjects.
const maxValues = 32 << 10

// MaxSize is the maximum size of a Sigstore bundle in bytes. A bundle with
// provenance is about 10 kB, and a bundle with an SBOM can be a few megabytes.
const MaxSize = 16 << 20

// Bundle describes the unverified content of a Sigstore bundle.
type Bundle struct {
	// PredicateType is the type of an attestation's predicate. It is empty for a
	// signature without an attestation.
	PredicateType string
	// Content is the kind of content: "dsse-envelope" or "message-signature".
	Content string

	subjects map[digest.Digest]bool
}

// Covers reports whether the bundle contains a statement or a signature for content
// with the given digest. It doesn't verify the signature.
func (b Bundle) Covers(d digest.Digest) bool { return b.subjects[d] }

// Parse parses a Sigstore bundle of version 0.3. The bundle must contain an
// in-toto statement in a DSSE envelope, or a signature of a SHA-256 digest. Parse
// doesn't verify signatures.
func Parse(data []byte) (Bundle, error) {
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
	if len(data) > MaxSize {
		return Bundle{}, fmt.Errorf("the Sigstore bundle exceeds %d bytes", MaxSize)
	}
	if err := bounded.DecodeJSON(data, &raw, maxValues); err != nil {
		return Bundle{}, fmt.Errorf("invalid Sigstore bundle: %w", err)
	}
	b := Bundle{subjects: map[digest.Digest]bool{}}
	switch signed := raw.Signature; {
	case raw.MediaType != MediaType:
		return b, fmt.Errorf("unsupported Sigstore bundle: media type %.100q, want %s", raw.MediaType, MediaType)
	case signed != nil && raw.Envelope == nil:
		if signed.Digest.Algorithm == "SHA2_256" {
			b.subjects[digest.NewDigestFromEncoded(digest.SHA256, hex.EncodeToString(signed.Digest.Digest))] = true
		}
		b.Content = "message-signature"
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
	b.PredicateType, b.Content = statement.PredicateType, "dsse-envelope"
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
	return bounded.DecodeJSON(data, (*plain)(s), maxValues)
}
