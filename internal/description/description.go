// Package description describes packages, documents, signatures, and decisions as data.
// The JSON output of the commands, the results of sync, the input of gates, and the API
// of serve contain these types, so that a field has the same name in all of them.
package description

import (
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Package is the zip of a release for one platform.
type Package struct {
	// Platform is "module" for modules. In the API, it is empty for modules.
	Platform string `json:"platform"`
	Filename string `json:"filename"`
	// Digest and Size are omitted if the source doesn't specify them. Size is also
	// omitted if only the index was read.
	Digest string `json:"digest,omitempty"`
	Size   int64  `json:"size,omitempty"`
	H1     string `json:"h1,omitempty"`
	// H1Unpacked is the hash of the unpacked directory. It is omitted if it is equal to
	// H1.
	H1Unpacked string `json:"h1_unpacked,omitempty"`
}

// NewPackage describes a package.
func NewPackage(p provider.Package) Package {
	return Package{
		Platform: p.Platform.String(), Filename: p.Filename, Digest: p.Digest.String(), Size: max(p.Size, 0), H1: p.H1, H1Unpacked: p.H1Unpacked,
	}
}

// Document is a file about a release or package.
type Document struct {
	// Name is a file name. It contains no slashes.
	Name string `json:"name"`
	// Kind is "checksums", "signature", "keys", "sbom", "provenance", "sigstore", or
	// "other".
	Kind      string `json:"kind"`
	MediaType string `json:"media_type"`
	// Digest is omitted if the source doesn't specify it.
	Digest string `json:"digest,omitempty"`
	Size   int64  `json:"size"`
	// Platform is empty if the document is about the whole release.
	Platform string `json:"platform,omitempty"`
}

// NewDocument describes a document about the whole release.
func NewDocument(d provider.Document) Document {
	return Document{Name: d.Name, Kind: string(d.Kind), MediaType: d.MediaType, Digest: d.Digest.String(), Size: d.Size}
}

// Signature is the verdict on the signature of a release.
type Signature struct {
	// Verdict is a [provider.Trust].
	Verdict string `json:"verdict"`
	// Fingerprint identifies the signing key.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Expired is the date on which the key or the signature expired.
	Expired string `json:"expired,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Warning describes a problem that the policy tolerates.
	Warning string `json:"warning,omitempty"`
	// Refused explains why the policy rejects the release. Only the list command and the
	// API set it. If it is empty, the policy accepts the release.
	Refused string `json:"refused,omitempty"`
}

// NewSignature describes a verdict. It returns nil if the signature was not verified.
func NewSignature(v provider.Verdict) *Signature {
	if v.Trust == "" {
		return nil
	}
	s := &Signature{Verdict: string(v.Trust), Fingerprint: v.Fingerprint, Reason: v.Reason, Warning: v.Warning}
	if !v.Expired.IsZero() {
		s.Expired = v.Expired.UTC().Format(time.DateOnly)
	}
	return s
}

// String returns the same text as [provider.Verdict.String], or an empty string if the
// signature is nil.
func (s *Signature) String() string {
	if s == nil {
		return ""
	}
	expired, _ := time.Parse(time.DateOnly, s.Expired)
	return provider.Verdict{Trust: provider.Trust(s.Verdict), Fingerprint: s.Fingerprint, Expired: expired}.String()
}

// Decision is a recorded decision about a release.
type Decision struct {
	// Kind is "promote", "deny", "force", or "gate". Verdict is "allow", "deny", or
	// "hold".
	Kind    string `json:"kind"`
	Verdict string `json:"verdict"`
	// Gate identifies the gate that decided. It is empty for other kinds.
	Gate   string    `json:"gate,omitempty"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
	Time   time.Time `json:"time"`
	// Key is the fingerprint of the key that signed the decision. The key isn't
	// necessarily trusted.
	Key string `json:"key,omitempty"`
	// Foreign reports whether the decision is about a different release or repository. If
	// so, it has no effect.
	Foreign bool `json:"foreign,omitempty"`
}

// NewDecision describes the record of a decision.
func NewDecision(r repository.DecisionRecord) Decision {
	return Decision{
		Kind: r.Kind, Verdict: r.Verdict, Gate: r.Gate, Reason: r.Reason, By: r.By,
		Time: r.Time.UTC().Truncate(time.Second), Key: r.Key, Foreign: r.Foreign,
	}
}
