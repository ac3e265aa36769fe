package trust

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxFile is the maximum size of a trust file, in bytes. Each rule uses a few hundred
// bytes.
const maxFile = 1 << 20

// ReadRules reads a trust file. It returns file system errors and the errors of
// [ParseRules].
func ReadRules(path string) (Rules, error) {
	data, err := bounded.ReadFileOrPipe(path, maxFile)
	if err != nil {
		return nil, err
	}
	return ParseRules(path, data)
}

// ruleBlock is a trust block in a trust file.
type ruleBlock struct {
	Pattern      string         `hcl:"pattern,label"`
	PatternRange hcl.Range      `hcl:"pattern,label_range"`
	Fingerprints *hcl.Attribute `hcl:"fingerprints,optional"`
	Expired      *hcl.Attribute `hcl:"expired,optional"`
	Unsigned     *hcl.Attribute `hcl:"unsigned,optional"`
	SignedSince  *hcl.Attribute `hcl:"signed_since,optional"`
	Approval     *hcl.Attribute `hcl:"approval,optional"`
	ApprovalKeys *hcl.Attribute `hcl:"approval_keys,optional"`
}

// ParseRules parses a trust file. The file contains trust "PATTERN" blocks in HCL 2's
// native syntax. Unknown or duplicate arguments are errors, as are two blocks with the
// same pattern. file is the file name in errors. Errors report all problems with their
// positions, and have the kind [provider.Malformed].
func ParseRules(file string, data []byte) (Rules, error) {
	var f struct {
		Blocks []ruleBlock `hcl:"trust,block"`
	}
	errs := []error{stricthcl.Decode(file, data, &f)}
	var rules Rules
	seen := map[provider.Pattern]int{}
	for _, block := range f.Blocks {
		rule, err := block.parse()
		errs = append(errs, err)
		if line, twice := seen[rule.Pattern]; twice && rule.Pattern != (provider.Pattern{}) {
			errs = append(errs, stricthcl.Errorf(block.PatternRange, "duplicate pattern %s: already used on line %d", rule.Pattern, line))
		}
		seen[rule.Pattern] = block.PatternRange.Start.Line
		rules = append(rules, rule)
	}
	if err := stricthcl.Join(errs...); err != nil {
		return nil, err
	}
	return rules, nil
}

func (b ruleBlock) parse() (rule Rule, err error) {
	var errs []error
	if rule.Pattern, err = provider.ParsePattern(b.Pattern); err != nil {
		errs = append(errs, stricthcl.Errorf(b.PatternRange, "%v", err))
	}
	if b.Fingerprints != nil {
		rule.Fingerprints, err = readFingerprints(b.Fingerprints)
		errs = append(errs, err)
	}
	errs = append(errs, readAction(b.Expired, &rule.Expired), readAction(b.Unsigned, &rule.Unsigned))
	if b.SignedSince != nil {
		errs = append(errs, rule.readSince(b.SignedSince))
	}
	if b.Approval != nil || b.ApprovalKeys != nil {
		errs = append(errs, rule.readApproval(b))
	}
	return rule, stricthcl.Join(errs...)
}

// readApproval reads the arguments approval and approval_keys.
func (r *Rule) readApproval(b ruleBlock) (err error) {
	if b.Approval == nil || b.ApprovalKeys == nil {
		return stricthcl.Errorf(b.PatternRange, "approval and approval_keys must be used together")
	}
	text, err := stricthcl.String(b.Approval.Name, b.Approval.Expr)
	if err == nil && text != "signed" {
		err = stricthcl.Errorf(b.Approval.Expr.Range(), "approval must be \"signed\"")
	}
	keys, wrong := readFingerprints(b.ApprovalKeys)
	r.ApprovalKeys = keys
	return stricthcl.Join(err, wrong)
}

func readFingerprints(a *hcl.Attribute) (all []string, err error) {
	err = stricthcl.Strings(a.Name, a.Expr, func(text string, at hcl.Range) error {
		fingerprint, ok := parseFingerprint(text)
		if !ok {
			return stricthcl.Errorf(at, "invalid fingerprint: want 40 or 64 hexadecimal digits; shorter key IDs can be forged")
		}
		if slices.Contains(all, fingerprint) {
			return stricthcl.Errorf(at, "duplicate fingerprint")
		}
		all = append(all, fingerprint)
		return nil
	})
	return all, err
}

// parseFingerprint parses the fingerprint of a version 4 or 6 key, with or without spaces.
func parseFingerprint(s string) (string, bool) {
	f := strings.ToUpper(strings.ReplaceAll(s, " ", ""))
	ok := (len(f) == 40 || len(f) == 64) && strings.Trim(f, "0123456789ABCDEF") == ""
	return f, ok
}

func (r *Rule) readSince(a *hcl.Attribute) error {
	text, err := stricthcl.String(a.Name, a.Expr)
	if err != nil {
		return err
	}
	if r.SignedSince, err = provider.ParseVersion(text); err != nil {
		return stricthcl.Errorf(a.Expr.Range(), "%v", err)
	}
	return nil
}

func readAction(a *hcl.Attribute, into *action) error {
	if a == nil {
		return nil
	}
	text, err := stricthcl.String(a.Name, a.Expr)
	if err != nil {
		return err
	}
	if *into = action(text); !slices.Contains([]action{accept, warn, refuse}, *into) {
		return stricthcl.Errorf(a.Expr.Range(), "%s must be accept, warn, or refuse", a.Name)
	}
	return nil
}
