package trust

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Mode is how much is demanded of signatures. The empty value is [ModeWarn].
type Mode string

// The modes. A bad signature is refused in all of them.
const (
	// ModeRequire refuses what is not signed by a key whose word counts.
	ModeRequire Mode = "require"
	// ModeWarn refuses what somebody has said must not be: keys that are revoked, or
	// are not those that count. It warns of what is unsigned or can't be checked.
	ModeWarn Mode = "warn"
	// ModeOff refuses bad signatures only. Pins don't count.
	ModeOff Mode = "off"
)

// ParseMode reads a mode's name. Errors are *[provider.SyntaxError].
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case ModeRequire, ModeWarn, ModeOff:
		return m, nil
	}
	return "", &provider.SyntaxError{What: "mode of signatures", Input: s, Problem: "must be require, warn or off"}
}

// Policy says whose signatures count, and what is refused. The zero value warns.
type Policy struct {
	Mode Mode
	// Keyring overrules the keys that come with a release: only its keys count,
	// beside those that a rule pins.
	Keyring Keyring
	// Rules pin addresses.
	Rules Rules
	// Earlier knows what was let pass before. Where neither the keyring nor a rule
	// says which keys count, a release that is signed by another key than the version
	// before it is warned of. May be nil.
	Earlier *Earlier
	// EnforceExpiration refuses expired keys and signatures where no rule says
	// otherwise.
	EnforceExpiration bool
	// EnforceValidation refuses releases that are unsigned, or whose key nobody
	// knows, where no rule says otherwise.
	EnforceValidation bool
}

// WithEnvironment returns the policy that also heeds OpenTofu's own variables,
// OPENTOFU_ENFORCE_GPG_EXPIRATION and OPENTOFU_ENFORCE_GPG_VALIDATION, which count
// when they are exactly "true". lookup is such as [os.Getenv].
func (p Policy) WithEnvironment(lookup func(string) string) Policy {
	p.EnforceExpiration = p.EnforceExpiration || lookup("OPENTOFU_ENFORCE_GPG_EXPIRATION") == "true"
	p.EnforceValidation = p.EnforceValidation || lookup("OPENTOFU_ENFORCE_GPG_VALIDATION") == "true"
	return p
}

// RefusedError says that the signature of a release does not do.
type RefusedError struct {
	Address provider.Address
	Version provider.Version
	Verdict provider.Verdict
	// Problem is a sentence without its full stop that says why the verdict does
	// not do.
	Problem string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s %s is refused: %s: %s", e.Address, e.Version, e.Verdict, e.Problem)
}

// Kind returns [provider.Unverified].
func (e *RefusedError) Kind() provider.ErrorKind { return provider.Unverified }

// Within returns the text for a message that has named the release.
func (e *RefusedError) Within(a provider.Address, v provider.Version) string {
	if e.Address != a || e.Version != v {
		return e.Error()
	}
	return fmt.Sprintf("it is refused: %s: %s", e.Verdict, e.Problem)
}

// Judge says what the signature of a release proves, and refuses what the policy
// does not let pass: *[RefusedError], beside the verdict. Keys that came with the
// release prove that it agrees with itself, and no more. Other errors are those of
// reading the release's documents.
func (p Policy) Judge(ctx context.Context, r provider.Release) (provider.Verdict, error) {
	return p.judge(ctx, r, false)
}

// JudgeOffered is [Policy] Judge of a release whose keys an origin registry offers,
// over TLS: where there is neither a keyring nor a pin, they count.
func (p Policy) JudgeOffered(ctx context.Context, r provider.Release) (provider.Verdict, error) {
	return p.judge(ctx, r, true)
}

func (p Policy) judge(ctx context.Context, r provider.Release, offered bool) (provider.Verdict, error) {
	// 1. What was signed, by which signatures. Releases of other tools may have
	// checksums for each package.
	all, err := evidenceOf(ctx, r)
	if err != nil {
		return provider.Verdict{}, err
	}
	rule, pinned := p.Rules.For(r.Address)
	w := words{policy: p, rule: rule, pinned: pinned && len(rule.Fingerprints) > 0, offered: offered}
	// 2. What each of them proves, and whether that does; the weakest counts.
	var verdict provider.Verdict
	for i, e := range all {
		v := w.weigh(e)
		problem, refused := w.problem(v, r.Version)
		if refused {
			return v, &RefusedError{Address: r.Address, Version: r.Version, Verdict: v, Problem: problem}
		}
		if v.Warning = problem; i == 0 || rank(v) < rank(verdict) {
			verdict = v
		}
	}
	if p.Mode != ModeOff && p.Keyring.IsZero() && !w.pinned {
		verdict.Warning = sentence(verdict.Warning, p.Earlier.changed(ctx, r, verdict))
	}
	return verdict, nil
}

// ranks order what is proven, the least first: of several evidences the first of
// them counts, of several signatures of one document the last.
var ranks = []provider.Trust{
	provider.TrustBad, provider.TrustRevoked, provider.TrustUntrusted, provider.TrustUnsigned, provider.TrustUnknown,
	provider.TrustUnpinned, provider.TrustExpired, provider.TrustSigned,
}

func rank(v provider.Verdict) int { return slices.Index(ranks, v.Trust) }

// sentence joins the parts of a reason that are not empty.
func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}
