package trust

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxFile bounds a trust file, in bytes: a rule takes some hundred.
const maxFile = 1 << 20

// ReadRules reads a trust file. Errors are those of the file system and of [ParseRules].
func ReadRules(path string) (Rules, error) {
	data, err := bounded.ReadFileOrPipe(path, maxFile)
	if err != nil {
		return nil, err
	}
	return ParseRules(path, data)
}

// ParseRules reads the text of a trust file: blocks trust "PATTERN" in HCL 2's
// native syntax. What is unknown or there twice is an error, as is a pattern that
// two blocks have. file is its name for errors, which state a position and are
// [provider.Malformed].
func ParseRules(file string, data []byte) (Rules, error) {
	body, err := stricthcl.Parse(file, data)
	if err != nil {
		return nil, err
	}
	for _, attribute := range stricthcl.Attributes(body) {
		return nil, stricthcl.Wrong(attribute.NameRange, "there is no argument %q here, only blocks: trust \"HOST/NAMESPACE/TYPE\" { … }", attribute.Name)
	}
	var rules Rules
	seen := map[provider.Pattern]int{}
	for _, block := range body.Blocks {
		rule, err := parseBlock(block)
		if err != nil {
			return nil, err
		}
		if line, twice := seen[rule.Pattern]; twice {
			return nil, stricthcl.Wrong(block.LabelRanges[0], "the pattern %s is that of the block in line %d already", rule.Pattern, line)
		}
		seen[rule.Pattern] = block.TypeRange.Start.Line
		rules = append(rules, rule)
	}
	return rules, nil
}

func parseBlock(block *hclsyntax.Block) (Rule, error) {
	var rule Rule
	switch {
	case block.Type != "trust":
		return rule, stricthcl.Wrong(block.TypeRange, "there are no %q blocks, only trust", block.Type)
	case len(block.Labels) != 1:
		return rule, stricthcl.Wrong(block.TypeRange, "a trust block has one label, the pattern: trust \"HOST/NAMESPACE/TYPE\" { … }")
	case len(block.Body.Blocks) > 0:
		return rule, stricthcl.Wrong(block.Body.Blocks[0].TypeRange, "a trust block has no blocks in it")
	}
	var err error
	if rule.Pattern, err = provider.ParsePattern(block.Labels[0]); err != nil {
		return rule, stricthcl.Wrong(block.LabelRanges[0], "%v", err)
	}
	err = stricthcl.Arguments(block.Body,
		stricthcl.Argument{Name: "fingerprints", Read: rule.readFingerprints},
		stricthcl.Argument{Name: "expired", Read: func(a *hclsyntax.Attribute) error { return readAction(a, &rule.Expired) }},
		stricthcl.Argument{Name: "unsigned", Read: func(a *hclsyntax.Attribute) error { return readAction(a, &rule.Unsigned) }},
		stricthcl.Argument{Name: "signed_since", Read: rule.readSince},
	)
	return rule, err
}

func (r *Rule) readFingerprints(a *hclsyntax.Attribute) error {
	return stricthcl.Strings(a, "a fingerprint", func(text string, at hcl.Range) error {
		fingerprint, ok := parseFingerprint(text)
		if !ok {
			return stricthcl.Wrong(at, "a fingerprint has 40 or 64 hexadecimal digits; a key ID of fewer can be forged")
		}
		if slices.Contains(r.Fingerprints, fingerprint) {
			return stricthcl.Wrong(at, "the fingerprint is there twice")
		}
		r.Fingerprints = append(r.Fingerprints, fingerprint)
		return nil
	})
}

// parseFingerprint reads a fingerprint of a key of version 4 or 6, with spaces or
// without.
func parseFingerprint(s string) (string, bool) {
	f := strings.ToUpper(strings.ReplaceAll(s, " ", ""))
	ok := (len(f) == 40 || len(f) == 64) && strings.Trim(f, "0123456789ABCDEF") == ""
	return f, ok
}

func (r *Rule) readSince(a *hclsyntax.Attribute) error {
	text, err := stricthcl.String(a)
	if err != nil {
		return err
	}
	if r.SignedSince, err = provider.ParseVersion(text); err != nil {
		return stricthcl.Wrong(a.Expr.Range(), "%v", err)
	}
	return nil
}

func readAction(a *hclsyntax.Attribute, into *action) error {
	text, err := stricthcl.String(a)
	if err != nil {
		return err
	}
	if *into = action(text); !slices.Contains([]action{accept, warn, refuse}, *into) {
		return stricthcl.Wrong(a.Expr.Range(), "%s must be accept, warn or refuse", a.Name)
	}
	return nil
}
