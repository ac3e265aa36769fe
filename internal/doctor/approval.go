package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// PendingInfo describes a version that is pending or denied. If it is neither,
// PendingInfo is the zero value.
type PendingInfo struct {
	// Problem is part of a sentence, such as "3.2.4 is pending approval".
	Problem string
	Remedy  finding.Remedy
}

// FindPending searches a repository for a pending or denied version that meets a
// requirement. If the repository can't be read, it returns the zero value, because the
// caller has already reported that error.
func FindPending(ctx context.Context, repo repository.Reader, wanted provider.Requirement, to template.Template) PendingInfo {
	e, err := approval.Find(ctx, repo, wanted)
	if err != nil || e.Tag == "" {
		return PendingInfo{}
	}
	v := e.Version.String()
	if e.State == publish.Pending {
		return PendingInfo{v + " is pending approval", finding.Remedy{Command: PromoteCommand(wanted.Address, to, e.Version)}}
	}
	return PendingInfo{
		fmt.Sprintf("%s is denied: %s", v, DenialReason(*e.Record)),
		finding.Remedy{Hint: fmt.Sprintf("choose another version; to accept this version anyway, run %s --stage --force, then %s --force", MirrorCommand(wanted.Address, to, v), PromoteCommand(wanted.Address, to, e.Version))},
	}
}

// Or returns the given problem and remedy. If s is not the zero value, Or appends
// s.Problem to the problem and replaces the remedy with s.Remedy.
func (s PendingInfo) Or(problem string, remedy finding.Remedy) (string, finding.Remedy) {
	if s.Problem == "" {
		return problem + ".", remedy
	}
	return problem + "; " + s.Problem + ".", s.Remedy
}

// Hint returns the problem and the remedy on one line, or "" for the zero value.
func (s PendingInfo) Hint() string {
	switch {
	case s.Problem == "":
		return ""
	case s.Remedy.Command != "":
		return s.Problem + "; run " + s.Remedy.Command
	}
	return s.Problem + "; " + s.Remedy.Hint
}

// DenialReason returns the reason for a denial and the name of the person or gate that
// denied the version, on one line.
func DenialReason(r repository.DecisionRecord) string {
	return strings.Join(strings.Fields(r.String()), " ")
}
