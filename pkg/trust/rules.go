package trust

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// action is the reaction to a problem with a signature: "accept", "warn", or "refuse".
type action string

const (
	accept action = "accept"
	warn   action = "warn"
	refuse action = "refuse"
)

// apply returns the problem unless it is accepted. refused reports whether the release
// is refused.
func (a action) apply(problem string) (reported string, refused bool) {
	if a == accept {
		return "", false
	}
	return problem, a == refuse
}

// Rule specifies requirements for the releases of matching providers.
type Rule struct {
	Pattern provider.Pattern
	// Fingerprints lists the fingerprints of trusted primary keys or subkeys in
	// upper-case hexadecimal digits. If Fingerprints is not empty, every other key is
	// untrusted. Unsigned releases are then refused unless Unsigned specifies a
	// different action.
	Fingerprints []string
	// Expired is the action for expired keys and signatures. If empty, the [Policy]
	// decides.
	Expired action
	// Unsigned is the action for unsigned releases. If empty, the Policy decides.
	Unsigned action
	// SignedSince is the first signed version. Older unsigned versions cause only a
	// warning. If zero, no version is exempt.
	SignedSince provider.Version
	// ApprovalKeys lists the fingerprints of keys in upper-case hexadecimal digits. If it
	// is not empty, one of these keys must have signed an approval of the release.
	ApprovalKeys []string
}

// Rules contains the rules of a trust file, one per pattern.
type Rules []Rule

// For returns the rule with the most specific pattern that matches an address.
func (rules Rules) For(a provider.Address) (rule Rule, found bool) {
	most := -1
	for _, r := range rules {
		if n := r.Pattern.Specificity(); r.Pattern.Match(a) && n > most {
			rule, found, most = r, true, n
		}
	}
	return rule, found
}

// Bytes returns the rules in the format of a trust file, in the same order.
func (rules Rules) Bytes() []byte {
	var text strings.Builder
	for i, r := range rules {
		if i > 0 {
			text.WriteString("\n")
		}
		text.WriteString("trust \"" + r.Pattern.String() + "\" {\n")
		if len(r.Fingerprints) > 0 {
			writeFingerprints(&text, "fingerprints", r.Fingerprints)
		}
		for _, argument := range []struct{ name, value string }{
			{"expired", string(r.Expired)}, {"unsigned", string(r.Unsigned)}, {"signed_since", since(r)},
		} {
			if argument.value != "" {
				text.WriteString("  " + argument.name + " = \"" + argument.value + "\"\n")
			}
		}
		if len(r.ApprovalKeys) > 0 {
			text.WriteString("  approval = \"signed\"\n")
			writeFingerprints(&text, "approval_keys", r.ApprovalKeys)
		}
		text.WriteString("}\n")
	}
	return []byte(text.String())
}

func writeFingerprints(text *strings.Builder, name string, fingerprints []string) {
	text.WriteString("  " + name + " = [\n")
	for _, f := range fingerprints {
		text.WriteString("    \"" + grouped(f) + "\",\n")
	}
	text.WriteString("  ]\n")
}

func since(r Rule) string {
	if r.SignedSince == (provider.Version{}) {
		return ""
	}
	return r.SignedSince.String()
}

// grouped formats a fingerprint in groups of four digits.
func grouped(fingerprint string) string {
	var groups []string
	for group := range slices.Chunk([]byte(fingerprint), 4) {
		groups = append(groups, string(group))
	}
	return strings.Join(groups, " ")
}
