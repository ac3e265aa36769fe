package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/oidc"
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

// parseValue says what is wrong with a value. A beginning has to end in a ":" or to
// have a "/" in it: acme* is acme-evil too, whom anybody may call himself.
func parseValue(value string) error {
	beginning, open := strings.CutSuffix(value, "*")
	switch {
	case value == "":
		return errors.New("it must not be empty")
	case strings.Contains(beginning, "*"):
		return errors.New("a * may only be the last character")
	case !open || beginning == "" || strings.HasSuffix(beginning, ":") || strings.Contains(beginning, "/"):
		return nil
	}
	return fmt.Errorf("%q would be any name that begins so; a * stands alone, behind a : or somewhere behind a /", value)
}

// fits tells whether all claims do. One that a token does not have never fits; of one
// with several values, one has to.
func (a allow) fits(claims oidc.Claims) bool {
	return !slices.ContainsFunc(a.claims, func(c claim) bool {
		return !slices.ContainsFunc(claims.Texts(c.name), c.accepts)
	})
}

func (c claim) accepts(text string) bool {
	return slices.ContainsFunc(c.values, func(value string) bool {
		beginning, open := strings.CutSuffix(value, "*")
		return text == value || open && strings.HasPrefix(text, beginning)
	})
}

// public are issuers from which anybody gets tokens, for whatever audience he likes,
// with the claims that say who it is.
var public = map[string][]string{
	"https://token.actions.githubusercontent.com": {
		"sub", "repository", "repository_id", "repository_owner", "repository_owner_id", "enterprise", "enterprise_id", "job_workflow_ref",
	},
	"https://gitlab.com": {"sub", "project_path", "project_id", "namespace_path", "namespace_id"},
}

// checkPublic refuses an allow block that says nothing of whose job it is: every
// repository has a main branch.
func checkPublic(issuer string, a allow) error {
	owners, isPublic := public[issuer]
	if !isPublic || slices.ContainsFunc(a.claims, func(c claim) bool {
		return slices.Contains(owners, c.name) && !slices.Contains(c.values, "*")
	}) {
		return nil
	}
	return fmt.Errorf("anybody has tokens of %s: one of the claims must be %s, and not *", issuer, strings.Join(owners, ", "))
}
