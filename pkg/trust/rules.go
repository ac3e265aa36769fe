package trust

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// action is what is done about something that is wrong with a signature: "accept", "warn"
// or "refuse".
type action string

const (
	accept action = "accept"
	warn   action = "warn"
	refuse action = "refuse"
)

// apply returns the problem if it is to be reported, and whether it is refused.
func (a action) apply(problem string) (reported string, refused bool) {
	if a == accept {
		return "", false
	}
	return problem, a == refuse
}

// Rule says what is expected of the releases of some providers.
type Rule struct {
	Pattern provider.Pattern
	// Fingerprints are those of the keys that may sign, a primary key's or a
	// subkey's, in upper-case hexadecimal digits. With any, nothing else counts,
	// and what is unsigned is refused unless Unsigned says otherwise. Without any,
	// the rule says no more than the other fields do.
	Fingerprints []string
	// Expired is what is done about expired keys and signatures; empty leaves it
	// to the [Policy].
	Expired action
	// Unsigned is what is done about releases without a signature; empty leaves it
	// to the Policy.
	Unsigned action
	// SignedSince is the first version that is signed: older ones may be unsigned,
	// which is warned of. The zero value is none.
	SignedSince provider.Version
}

// Rules are those of a trust file, one for each pattern.
type Rules []Rule

// For returns the rule of an address: the one whose pattern leaves the least open.
func (rules Rules) For(a provider.Address) (rule Rule, found bool) {
	most := -1
	for _, r := range rules {
		if n := fixedParts(r.Pattern); r.Pattern.Match(a) && n > most {
			rule, found, most = r, true, n
		}
	}
	return rule, found
}

func fixedParts(p provider.Pattern) int {
	n := 0
	host, namespace, typ := p.Fixed()
	for _, fixed := range []bool{host, namespace, typ} {
		if fixed {
			n++
		}
	}
	return n
}

// Bytes returns the text of a trust file with these rules, in their order.
func (rules Rules) Bytes() []byte {
	var text strings.Builder
	for i, r := range rules {
		if i > 0 {
			text.WriteString("\n")
		}
		text.WriteString("trust \"" + r.Pattern.String() + "\" {\n")
		if len(r.Fingerprints) > 0 {
			text.WriteString("  fingerprints = [\n")
			for _, f := range r.Fingerprints {
				text.WriteString("    \"" + grouped(f) + "\",\n")
			}
			text.WriteString("  ]\n")
		}
		for _, argument := range []struct{ name, value string }{
			{"expired", string(r.Expired)}, {"unsigned", string(r.Unsigned)}, {"signed_since", since(r)},
		} {
			if argument.value != "" {
				text.WriteString("  " + argument.name + " = \"" + argument.value + "\"\n")
			}
		}
		text.WriteString("}\n")
	}
	return []byte(text.String())
}

func since(r Rule) string {
	if r.SignedSince == (provider.Version{}) {
		return ""
	}
	return r.SignedSince.String()
}

// grouped writes a fingerprint as people compare it: by four digits.
func grouped(fingerprint string) string {
	var groups []string
	for group := range slices.Chunk([]byte(fingerprint), 4) {
		groups = append(groups, string(group))
	}
	return strings.Join(groups, " ")
}
