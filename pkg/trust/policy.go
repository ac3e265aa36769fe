package trust

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Mode specifies which signatures are required. The empty value is [ModeWarn].
type Mode string

// Modes. All of them refuse bad signatures.
const (
	// ModeRequire refuses releases that are not signed by a trusted key.
	ModeRequire Mode = "require"
	// ModeWarn refuses revoked and untrusted keys. It warns about unsigned releases and
	// signatures that can't be verified.
	ModeWarn Mode = "warn"
	// ModeOff refuses only bad signatures. Pinned keys are ignored.
	ModeOff Mode = "off"
)

// Policy specifies which keys are trusted and which releases are refused. The zero value
// only warns.
type Policy struct {
	Mode Mode
	// Keyring overrides the keys of releases. Only the keys in Keyring and the keys
	// that rules pin are trusted. If zero, the keys of a release are used.
	Keyring Keyring
	// Rules contains the rules of a trust file.
	Rules Rules
	// History, if not nil, is used to compare the key that signed a release with the
	// key that signed the previous version. If the keys differ, or if only the previous
	// version is signed, Verify adds a warning and sets the verdict's KeyChange.
	// History is ignored if the keyring or a rule specifies the trusted keys.
	History *SignerHistory
	// Decisions returns the recorded decisions about a release. For OCI repositories,
	// use oci.Decisions. It is called only if an approval is required. If nil, releases
	// that require an approval are refused.
	Decisions func(ctx context.Context, r provider.Release) ([]artifact.SignedDecision, error)
	// EnforceExpiration refuses expired keys and signatures, unless a rule accepts them.
	EnforceExpiration bool
	// EnforceValidation refuses unsigned releases and unknown keys, unless a rule accepts
	// them.
	EnforceValidation bool
}

// WithEnvironment returns a policy that also respects OpenTofu's environment variables
// OPENTOFU_ENFORCE_GPG_EXPIRATION and OPENTOFU_ENFORCE_GPG_VALIDATION. They are enabled if
// their value is exactly "true". lookup is a function such as [os.Getenv].
func (p Policy) WithEnvironment(lookup func(string) string) Policy {
	p.EnforceExpiration = p.EnforceExpiration || lookup("OPENTOFU_ENFORCE_GPG_EXPIRATION") == "true"
	p.EnforceValidation = p.EnforceValidation || lookup("OPENTOFU_ENFORCE_GPG_VALIDATION") == "true"
	return p
}

// RefusedError reports that the policy refuses a release because of its signature or a
// missing approval.
type RefusedError struct {
	Address provider.Address
	Version provider.Version
	Verdict provider.Verdict
	// Problem is the reason the verdict is not acceptable, without a final period. If
	// Unapproved is set, it is the reason the release is not approved.
	Problem    string
	Unapproved bool
	// NoRepository reports whether Unapproved is set because the release does not come
	// from an OCI repository, so that approvals can't be read.
	NoRepository bool
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s %s %s", e.Address, e.Version, e.reason())
}

// Kind returns [provider.Unverified].
func (e *RefusedError) Kind() provider.ErrorKind { return provider.Unverified }

// Within returns the error's text. If Address is a and Version is v, the text omits both.
func (e *RefusedError) Within(a provider.Address, v provider.Version) string {
	if e.Address != a || e.Version != v {
		return e.Error()
	}
	return "it " + e.reason()
}

func (e *RefusedError) reason() string {
	if e.Unapproved {
		return "is not approved: " + e.Problem
	}
	return fmt.Sprintf("is refused: %s: %s", e.Verdict, e.Problem)
}

// Verify verifies the signature of a release and returns the verdict. It also checks
// that the release is approved if the policy requires approval. If the policy refuses
// the release, Verify also returns a *[RefusedError]. Keys that are stored with the
// release are not trusted, because they only prove that the release is consistent.
// Other errors concern reading the documents of the release.
func (p Policy) Verify(ctx context.Context, r provider.Release) (provider.Verdict, error) {
	v, err := p.VerifySignature(ctx, r)
	if err == nil {
		err = p.checkApproval(ctx, r, v)
	}
	return v, err
}

// VerifySignature is like Verify, but requires no approval. Use it to publish or approve
// releases.
func (p Policy) VerifySignature(ctx context.Context, r provider.Release) (provider.Verdict, error) {
	return p.evaluate(ctx, r, false)
}

// VerifyOffered is like VerifySignature for a release from an origin registry. If the
// policy has neither a keyring nor a pinned key, it trusts the keys that the origin
// registry offers over TLS.
func (p Policy) VerifyOffered(ctx context.Context, r provider.Release) (provider.Verdict, error) {
	return p.evaluate(ctx, r, true)
}

func (p Policy) evaluate(ctx context.Context, r provider.Release, offered bool) (provider.Verdict, error) {
	// 1. Read the documents and signatures. Releases from other tools can contain
	// separate checksums for each package.
	all, err := signedDocumentsOf(ctx, r)
	if err != nil {
		return provider.Verdict{}, err
	}
	rule, pinned := p.Rules.For(r.Address)
	w := evaluation{policy: p, rule: rule, pinned: pinned && len(rule.Fingerprints) > 0, offered: offered, registryModule: r.RegistryModule != ""}
	// 2. Verify the documents. The weakest verdict applies.
	var verdict provider.Verdict
	for i, e := range all {
		v := w.verify(e)
		problem, refused := w.problem(v, r.Version)
		if refused {
			return v, &RefusedError{Address: r.Address, Version: r.Version, Verdict: v, Problem: problem}
		}
		if v.Warning = problem; i == 0 || rank(v) < rank(verdict) {
			verdict = v
		}
	}
	if p.Mode != ModeOff && p.Keyring.IsZero() && !w.pinned {
		if verdict.Trust != provider.TrustUnsigned || w.unsigned(r.Version) != accept {
			verdict.KeyChange = p.History.changed(ctx, r, verdict)
		}
		verdict.Warning = sentence(verdict.Warning, verdict.KeyChange)
	}
	return verdict, nil
}

// rank orders verdicts from the weakest to the strongest. If a release has several
// signed documents, the weakest verdict applies. If a document has several signatures,
// the strongest verdict applies.
func rank(v provider.Verdict) int { return slices.Index(provider.Trusts, v.Trust) }

// sentence joins the non-empty parts of a reason.
func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}
