package access

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// claim is what an allow block demands of one claim: one of several values. A value
// is the whole text, or its beginning with a * behind it.
//
// GitHub's claims are strings: repository is "acme/rocket", sub is
// "repo:acme/rocket:ref:refs/heads/main", ref and environment say where a job runs.
// GitLab's ref_protected is the string "true", where others have a boolean; a text is
// compared with either. Namespaces nest there, so namespace_path = "acme/*" is for all
// groups in acme, and not for acme itself.
type claim struct {
	name   string
	values []string
}

// checkValue checks a value. A prefix has to end in ":" or contain "/", because acme* also
// matches acme-evil, a name that anyone can register.
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
	return fmt.Errorf("invalid value %q: * is allowed only alone, after a colon, or in a path after a slash, because %q also matches longer names", value, value)
}

// fits reports whether all claims do. One that a token does not have never fits; of one
// with several values, one has to.
func (a allow) matches(token issuerToken) bool {
	return !slices.ContainsFunc(a.claims, func(c claim) bool {
		return !slices.ContainsFunc(token.claimValues(c.name), c.accepts)
	})
}

func (c claim) accepts(text string) bool {
	return slices.ContainsFunc(c.values, func(value string) bool {
		beginning, open := strings.CutSuffix(value, "*")
		return text == value || open && strings.HasPrefix(text, beginning)
	})
}

// Patterns of values that name an owner. Values end in at most one *.
var (
	wholeName = regexp.MustCompile(`^[^*]+$`)
	ownerPath = regexp.MustCompile(`^[^*/]+/`)
	groupPath = regexp.MustCompile(`^[^*/]+(/|$)`)
)

// publicIssuers issue tokens to anyone, for any audience. For each issuer, they list the
// claims that identify the owner of a token, and the form of a value that names one.
//
// GitHub's owners choose the form of the subject, so it must begin with a claim that the
// owner cannot choose. Its job_workflow_ref names a workflow that anyone can call.
var publicIssuers = map[string]map[string]*regexp.Regexp{
	"https://token.actions.githubusercontent.com": {
		"sub":        regexp.MustCompile(`^((repo|repository):[^*:/]+/|(repository_owner|repository_owner_id|repository_id):[^*:]+(:|$))`),
		"repository": ownerPath, "repository_id": wholeName, "repository_owner": wholeName, "repository_owner_id": wholeName,
		"enterprise": wholeName, "enterprise_id": wholeName,
	},
	"https://gitlab.com": {
		"sub":          regexp.MustCompile(`^project_path:[^*:/]+/`),
		"project_path": ownerPath, "project_id": wholeName, "namespace_path": groupPath, "namespace_id": wholeName,
	},
	"https://accounts.google.com": {"sub": wholeName, "email": wholeName, "hd": wholeName},
	"https://app.terraform.io": {
		"sub":                         regexp.MustCompile(`^organization:[^*:]+:`),
		"terraform_organization_name": wholeName, "terraform_organization_id": wholeName,
		"terraform_project_id": wholeName, "terraform_workspace_id": wholeName,
	},
}

// checkPublic refuses an allow block for a public issuer that names no owner: every
// repository has a main branch, and repo:* is every repository.
func checkPublic(issuer string, a allow) error {
	owners, isPublic := publicIssuers[issuer]
	if !isPublic || slices.ContainsFunc(a.claims, func(c claim) bool {
		owner, identifies := owners[c.name]
		return identifies && !slices.ContainsFunc(c.values, func(v string) bool { return !owner.MatchString(v) })
	}) {
		return nil
	}
	return fmt.Errorf("anyone can get a token from %s: at least one of the claims %s must name an owner before any *",
		issuer, strings.Join(slices.Sorted(maps.Keys(owners)), ", "))
}
