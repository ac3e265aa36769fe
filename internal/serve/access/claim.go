package access

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// claim is a condition of an allow block for one claim. The claim must have one of the
// values. A value ending in * matches any string that starts with the part before the
// *.
//
// GitHub's claims are strings: repository is "acme/rocket", sub is
// "repo:acme/rocket:ref:refs/heads/main", and ref and environment describe the job.
// GitLab's ref_protected is the string "true", while some issuers use Booleans. The
// value "true" matches both types. Namespaces are nested on GitLab, so namespace_path =
// "acme/*" matches all groups in acme, but not acme itself.
type claim struct {
	name   string
	values []string
}

// checkValue returns an error if a value is invalid. The part before a * must be empty,
// end in ":", or contain "/", because acme* also matches acme-evil, a name that anyone
// can register.
func checkValue(value string) error {
	prefix, isPrefix := strings.CutSuffix(value, "*")
	switch {
	case value == "":
		return errors.New("a value must not be empty")
	case strings.Contains(prefix, "*"):
		return fmt.Errorf("invalid value %q: * is allowed only as the last character", value)
	case !isPrefix || prefix == "" || strings.HasSuffix(prefix, ":") || strings.Contains(prefix, "/"):
		return nil
	}
	return fmt.Errorf("invalid value %q: * is allowed only by itself, after a colon, or in a path after a slash, because %q also matches longer names", value, value)
}

// matches reports whether each claim of a token has one of the accepted values.
func (a allow) matches(token issuerToken) bool {
	return !slices.ContainsFunc(a.claims, func(c claim) bool {
		return !slices.ContainsFunc(token.claimValues(c.name), c.accepts)
	})
}

func (c *claim) accepts(text string) bool {
	return slices.ContainsFunc(c.values, func(value string) bool {
		beginning, open := strings.CutSuffix(value, "*")
		return text == value || open && strings.HasPrefix(text, beginning)
	})
}

// These patterns match values that identify an owner. Values contain at most one *, at
// the end.
var (
	fullName  = regexp.MustCompile(`^[^*]+$`)
	ownerPath = regexp.MustCompile(`^[^*/]+/`)
	groupPath = regexp.MustCompile(`^[^*/]+(/|$)`)
)

// publicIssuers contains the issuers that issue tokens to anyone, for any audience. It
// maps each issuer to the claims that can identify a token's owner, and each claim to
// the pattern for values that identify an owner.
//
// On GitHub, owners can choose the subject's format, so the subject must start with a
// claim that they can't choose. The claim job_workflow_ref doesn't identify an owner,
// because anyone can call a workflow.
var publicIssuers = map[string]map[string]*regexp.Regexp{
	"https://token.actions.githubusercontent.com": {
		"sub":        regexp.MustCompile(`^((repo|repository):[^*:/]+/|(repository_owner|repository_owner_id|repository_id):[^*:]+(:|$))`),
		"repository": ownerPath, "repository_id": fullName, "repository_owner": fullName, "repository_owner_id": fullName,
		"enterprise": fullName, "enterprise_id": fullName,
	},
	"https://gitlab.com": {
		"sub":          regexp.MustCompile(`^project_path:[^*:/]+/`),
		"project_path": ownerPath, "project_id": fullName, "namespace_path": groupPath, "namespace_id": fullName,
	},
	"https://accounts.google.com": {"sub": fullName, "email": fullName, "hd": fullName},
	"https://app.terraform.io": {
		"sub":                         regexp.MustCompile(`^organization:[^*:]+:`),
		"terraform_organization_name": fullName, "terraform_organization_id": fullName,
		"terraform_project_id": fullName, "terraform_workspace_id": fullName,
	},
}

// checkPublic returns an error for a public issuer's allow block that identifies no
// owner. For example, a branch name doesn't identify an owner, and the subject repo:*
// matches every repository.
func checkPublic(issuer string, a allow) error {
	owners, isPublic := publicIssuers[issuer]
	if !isPublic || slices.ContainsFunc(a.claims, func(c claim) bool {
		owner, identifies := owners[c.name]
		return identifies && !slices.ContainsFunc(c.values, func(v string) bool { return !owner.MatchString(v) })
	}) {
		return nil
	}
	return fmt.Errorf("anyone can get a token from %s, so the allow block must contain at least one of these claims: %s; each value must name the complete owner before any *",
		issuer, strings.Join(slices.Sorted(maps.Keys(owners)), ", "))
}
