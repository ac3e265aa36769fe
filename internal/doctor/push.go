package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// push asks whether something may be pushed to the repository.
func (e *examination) push(ctx context.Context, repo repository.Reader) {
	ask := repo.Traits().Writable
	if ask == nil {
		return
	}
	err := ask(ctx)
	if err == nil {
		e.report.Push = "allowed"
		return
	}
	if ctx.Err() != nil {
		return
	}
	e.report.Push = err.Error()
	switch {
	case e.ref.Registry == "":
		e.find(finding.Error, "push-failed", fmt.Sprintf("Nothing can be written to %s: %v.", e.ref, err), "choose another directory, or give this user the right to write there")
	case errors.Is(err, provider.ErrDenied):
		e.find(finding.Error, "push-denied", fmt.Sprintf("The registry lets this login not push to %s: the login lacks the right to write, or there is none.", e.ref),
			"give the login the right to push, or: tofu-oci login "+e.ref.Registry)
	case errors.Is(err, repository.ErrNoRepository):
		e.find(finding.Error, "push-failed", fmt.Sprintf("The registry makes no repository %s by itself.", e.ref), "make the repository or its project first, or let tofu-oci mirror do it with --on-missing-repository")
	default:
		e.find(finding.Error, "push-failed", fmt.Sprintf("Nothing can be pushed to %s: %v.", e.ref, err), "curl -I https://"+e.ref.Registry+"/v2/")
	}
}
