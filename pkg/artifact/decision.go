package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Kinds of decisions.
const (
	// DecisionPromote is the approval of a release.
	DecisionPromote = "promote"
	// DecisionDeny is the denial of a version.
	DecisionDeny = "deny"
	// DecisionForce is an override of a conflict or a denial.
	DecisionForce = "force"
	// DecisionGate is the result of a gate program.
	DecisionGate = "gate"
)

// Verdicts of decisions.
const (
	VerdictAllow = "allow"
	VerdictDeny  = "deny"
	VerdictHold  = "hold"
)

const (
	// maxStatement, maxDecisionSignature, and maxDecisionKeys are the maximum sizes of
	// the parts of a recorded decision, in bytes.
	maxStatement         = 64 << 10
	maxDecisionSignature = 16 << 10
	maxDecisionKeys      = 1 << 20
	// maxReason is the maximum size of the reason and of each name in a decision, in
	// bytes.
	maxReason = 4 << 10
	// deniedPrefix is the prefix of denial tags. OpenTofu ignores such tags.
	deniedPrefix = "denied-"
)

// DeniedTag returns the tag of a version's denial: "denied-" followed by the [Tag] of
// the version.
func DeniedTag(v provider.Version) string { return deniedPrefix + Tag(v) }

// Decision records a decision about a release. Its JSON form is the statement that is
// stored as a referrer of the release's index.
type Decision struct {
	// Kind is one of the Decision constants, and Verdict is one of the Verdict
	// constants.
	Kind    string `json:"kind"`
	Verdict string `json:"verdict"`
	// Gate identifies the gate that made the decision as NAME@HASH, where HASH is a
	// hash of the gate's command. Earlier versions wrote ":" instead of "@". Gate is
	// empty for other kinds.
	Gate string `json:"gate,omitempty"`
	// Reason is free text. It is required unless the verdict is "allow".
	Reason string `json:"reason,omitempty"`
	// By names the person who made the decision. It can be empty.
	By string `json:"by,omitempty"`
	// Repository, Provider, Version, and Index identify the release. Repository is
	// "oci-layout" for image layouts.
	Repository string        `json:"repository"`
	Provider   string        `json:"provider"`
	Version    string        `json:"version"`
	Index      digest.Digest `json:"index"`
	// Packages maps platforms to the digests of their zips. See [PackageDigests].
	Packages map[string]digest.Digest `json:"packages,omitempty"`
	Time     time.Time                `json:"time"`
}

// SignedDecision is a decision with its statement, the detached signature of the
// statement, and the signer's public key. Signature and Keys are nil if the decision is
// not signed. The signature has not been verified.
type SignedDecision struct {
	Decision
	Statement, Signature, Keys []byte
}

// Signer signs decisions and checksums. trust.Signer implements it.
type Signer interface {
	// Sign returns the detached signature of a document.
	Sign(document []byte) ([]byte, error)
	// Signed reports whether signature is the signer's signature of the document.
	Signed(document, signature []byte) bool
	// Keys returns the armored public key.
	Keys() []byte
}

// Check returns an error if a decision can't be recorded.
func (d Decision) Check() error {
	switch {
	case !slices.Contains([]string{DecisionPromote, DecisionDeny, DecisionForce, DecisionGate}, d.Kind):
		return fmt.Errorf("invalid decision kind %q", clip(d.Kind))
	case !slices.Contains([]string{VerdictAllow, VerdictDeny, VerdictHold}, d.Verdict):
		return fmt.Errorf("invalid verdict %q: want allow, deny, or hold", clip(d.Verdict))
	case d.Kind == DecisionDeny && strings.TrimSpace(d.Reason) == "":
		return errors.New("a denial requires a reason")
	case d.Verdict != VerdictAllow && strings.TrimSpace(d.Reason) == "":
		return fmt.Errorf("the verdict %s requires a reason", d.Verdict)
	}
	for name, text := range map[string]string{"reason": d.Reason, "name": d.By, "gate name": d.Gate} {
		if len(text) > maxReason {
			return fmt.Errorf("%s exceeds %d bytes", name, maxReason)
		}
		if !utf8.ValidString(text) {
			return fmt.Errorf("%s is not valid UTF-8", name)
		}
	}
	return nil
}

// Repeats reports whether two decisions are equal, regardless of Packages and Time.
func (d Decision) Repeats(other Decision) bool {
	return d.Kind == other.Kind && d.Verdict == other.Verdict && d.Gate == other.Gate && d.Reason == other.Reason && d.By == other.By &&
		d.IsAbout(other)
}

// IsAbout reports whether d applies to the release of other. Both must have the same
// repository, provider, and version. They must also have the same index, or d must
// cover all zips of other. So d still applies after documents are added to the release,
// but not after zips are added.
func (d Decision) IsAbout(other Decision) bool {
	return d.Repository == other.Repository && d.Provider == other.Provider && d.Version == other.Version &&
		(d.Index == other.Index || d.covers(other.Packages))
}

// covers reports whether the decision is about all of the zips.
func (d Decision) covers(zips map[string]digest.Digest) bool {
	for platform, zip := range zips {
		if zip == "" || d.Packages[platform] != zip {
			return false
		}
	}
	return len(zips) > 0
}

// PackageDigests maps platforms to the digests of their zips, as in [Decision].
func PackageDigests(packages []provider.Package) map[string]digest.Digest {
	zips := map[string]digest.Digest{}
	for _, p := range packages {
		zips[p.Platform.String()] = p.Digest
	}
	return zips
}

// Pack builds the manifest of a decision. The subject of the manifest is the index. If
// signer is not nil, the manifest contains a signature of the statement and the
// signer's public key.
func (d Decision) Pack(index ocispec.Descriptor, signer Signer) (Referrer, error) {
	if err := d.Check(); err != nil {
		return Referrer{}, err
	}
	d.Index, d.Time = index.Digest, d.Time.UTC().Truncate(time.Millisecond)
	data, err := json.Marshal(d)
	if err != nil {
		return Referrer{}, err
	}
	if len(data) > maxStatement {
		return Referrer{}, fmt.Errorf("decision exceeds %d bytes", maxStatement)
	}
	signed := SignedDecision{Decision: d, Statement: data}
	if signer == nil {
		return signed.Repack(index)
	}
	if signed.Signature, err = signer.Sign(data); err != nil {
		return Referrer{}, err
	}
	signed.Keys = signer.Keys()
	if len(signed.Signature) > maxDecisionSignature || len(signed.Keys) > maxDecisionKeys {
		return Referrer{}, fmt.Errorf("the signing key exceeds %d bytes; export it with gpg --export-secret-keys --export-options export-minimal", maxDecisionKeys)
	}
	return signed.Repack(index)
}

// Repack builds the manifest of a recorded decision with another index as its subject. The
// statement and its signature stay the same.
func (d SignedDecision) Repack(index ocispec.Descriptor) (Referrer, error) {
	// Decisions about the same index need different names.
	statement := NewDocument(d.Kind+"-"+digest.FromBytes(d.Statement).Encoded()[:12]+".json", typeRecord, d.Statement)
	var more []provider.Document
	if d.Signature != nil {
		more = []provider.Document{NewDocument(statement.Name+".sig", MediaTypeSignature, d.Signature), NewDocument(statement.Name+".keys.asc", MediaTypeKeys, d.Keys)}
	}
	return packDocuments(statement, index, map[string]string{annotationRecord: recordDecision}, more...)
}

// MayBeDecision reports whether an entry in a referrers list can be a decision of one
// of the given kinds. Some registries omit the annotations, so only the manifest shows
// the kind of such an entry.
func MayBeDecision(entry ocispec.Descriptor, kinds ...string) bool {
	kind, _, _ := strings.Cut(entry.Annotations[ocispec.AnnotationTitle], "-")
	return len(entry.Annotations) == 0 || isRecord(entry.ArtifactType, entry.Annotations, recordDecision) && slices.Contains(kinds, kind)
}

// DecisionManifest contains the descriptors in the manifest of a decision. For an
// unsigned decision, Signature and Keys are the zero value.
type DecisionManifest struct {
	Index, Statement, Signature, Keys ocispec.Descriptor
}

// ParseDecisionManifest parses the manifest of a decision. For other content, the error
// is a *[FormatError].
func ParseDecisionManifest(data []byte) (DecisionManifest, error) {
	manifest, statement, err := parseReferrer(data)
	m := DecisionManifest{Statement: statement}
	switch {
	case err != nil:
		return m, err
	case manifest.MediaType != ocispec.MediaTypeImageManifest || !isRecord(manifest.ArtifactType, manifest.Annotations, recordDecision):
		return m, formatError("not a decision")
	case manifest.Subject == nil || manifest.Subject.Digest.Validate() != nil:
		return m, formatError("decision has no valid subject")
	case statement.Size > maxStatement:
		return m, formatError("decision exceeds %d bytes", maxStatement)
	}
	m.Index = *manifest.Subject
	for _, layer := range manifest.Layers[1:] {
		layer = ownType(layer)
		into, limit := &m.Keys, int64(maxDecisionKeys)
		if layer.MediaType == MediaTypeSignature {
			into, limit = &m.Signature, maxDecisionSignature
		}
		if err := checkDescriptor(layer, limit); err != nil {
			return m, formatError("invalid decision layer: %v", err)
		}
		*into = layer
	}
	return m, nil
}

// IsLocalDecision reports whether a manifest contains a decision that has no meaning in
// other repositories: a decision of a gate, or an unsigned decision that isn't a denial.
func IsLocalDecision(manifest []byte) bool {
	m, err := ParseDecisionManifest(manifest)
	kind, _, _ := strings.Cut(m.Statement.Annotations[ocispec.AnnotationTitle], "-")
	return err == nil && kind != DecisionDeny && (kind == DecisionGate || m.Signature.Digest == "")
}

// ParseDecision parses the statement of a decision. It doesn't validate the decision.
// It rejects a statement with an expiry, which only earlier versions of tofu-oci
// supported, because the decision would otherwise never expire.
func ParseDecision(data []byte) (d Decision, err error) {
	if len(data) > maxStatement {
		return d, formatError("decision exceeds %d bytes", maxStatement)
	}
	var statement struct {
		Decision
		Expires json.RawMessage `json:"expires"`
	}
	if err := bounded.DecodeJSON(data, &statement, maxValues); err != nil {
		return d, formatError("invalid decision: %v", err)
	}
	if statement.Expires != nil {
		return d, formatError("decision has an expiry, which is not supported")
	}
	return statement.Decision, nil
}

// String returns the reason, followed by the name of the person who made the decision.
func (d Decision) String() string {
	switch {
	case d.By == "":
		return d.Reason
	case d.Reason == "":
		return "by " + d.By
	}
	return d.Reason + " (" + d.By + ")"
}
