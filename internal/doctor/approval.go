package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Staged says of a version that is missing how it stands with those who approve
// releases. The zero value is that they know nothing of it.
type PendingInfo struct {
	// Problem is a part of a sentence: "3.2.4 waits for approval".
	Problem string
	Remedy  finding.Remedy
}

// AskStaged looks for a version that meets a requirement, and waits in a repository of a
// template or was denied there. What can't be asked is as if there was none: another
// error told so before.
func FindPending(ctx context.Context, repo repository.Reader, wanted provider.Requirement, to template.Template) PendingInfo {
	e, err := approval.Find(ctx, repo, wanted)
	if err != nil || e.Tag == "" {
		return PendingInfo{}
	}
	v := e.Version.String()
	if e.State == publish.Pending {
		return PendingInfo{v + " waits for approval", finding.Remedy{Command: command("promote", wanted.Address, to, v)}}
	}
	return PendingInfo{
		fmt.Sprintf("%s is denied: %s", v, DenialReason(*e.Record)),
		finding.Remedy{Hint: fmt.Sprintf("choose another version; if the reason does not hold any more: %s --stage --force, and then tofu-oci promote --force", MirrorCommand(wanted.Address, to, v))},
	}
}

// Or returns the problem and the remedy of a version that is missing: those of approval,
// where it knows the version, else what brings it.
func (s PendingInfo) Or(problem string, remedy finding.Remedy) (string, finding.Remedy) {
	if s.Problem == "" {
		return problem + ".", remedy
	}
	return problem + "; " + s.Problem + ".", s.Remedy
}

// Hint is both in one line; empty where there is nothing to say.
func (s PendingInfo) Hint() string {
	switch {
	case s.Problem == "":
		return ""
	case s.Remedy.Command != "":
		return s.Problem + ": " + s.Remedy.Command
	}
	return s.Problem + "; " + s.Remedy.Hint
}

// DenialReason returns the reason of a denial, and who decided, on one line.
func DenialReason(r repository.DenialRecord) string {
	return strings.Join(strings.Fields(r.String()), " ")
}
