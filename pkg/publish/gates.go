package publish

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Gates decide about releases before their tags are written.
type Gates interface {
	// Enforce decides about a release whose content the repository has, and records the
	// decision. If the release must become or stay pending, held describes why. For a
	// denied release, the error is a *[repository.DeniedError].
	Enforce(ctx context.Context, repo repository.Repository, c Candidate) (held *HeldError, err error)
	// Reconsider reports whether a gate decides again about a version that it has
	// denied, or whose allowance has expired.
	Reconsider(r repository.DecisionRecord) bool
}

// Actions for which gates decide.
const (
	ActionMirror  = "mirror"
	ActionPublish = "publish"
	ActionCopy    = "copy"
	ActionImport  = "import"
	ActionPromote = "promote"
	ActionModule  = "module"
)

// Candidate is a release that is about to get a tag.
type Candidate struct {
	// Action is one of the actions.
	Action  string
	Release provider.Release
	Index   artifact.Blob
	// Live reports that the version's tag exists.
	Live bool
	// Signature is the result of verifying the signature.
	Signature provider.Verdict
	// Unattested, if not nil, describes why attestations are unavailable.
	Unattested error
	// Signer, if not nil, signs the records of decisions.
	Signer artifact.Signer
}

// HeldError reports that a gate holds a release, which becomes or stays pending.
type HeldError struct {
	Gate string
	// Reason is the reason that the gate stated. It is empty if the gate failed.
	Reason string
	// Err describes how the gate failed.
	Err error
}

func (e *HeldError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("held because gate %q failed: %v", e.Gate, e.Err)
	}
	return fmt.Sprintf("held by gate %q: %s", e.Gate, e.Reason)
}

// Kind returns [provider.Refused].
func (e *HeldError) Kind() provider.ErrorKind { return provider.Refused }

// Unwrap returns the failure of the gate.
func (e *HeldError) Unwrap() error { return e.Err }

// Failure returns the error if the gate failed. Otherwise, it returns nil.
func (e *HeldError) Failure() error {
	if e == nil || e.Err == nil {
		return nil
	}
	return e
}

// errStaged is returned instead of writing the version's tag if the release becomes
// pending.
var errStaged = errors.New("the release is staged")

// recordSigner returns the signer for records of decisions, or nil.
func (j *job) recordSigner() artifact.Signer {
	if s := j.options.RecordSigner; s != nil {
		return s
	}
	return j.options.Signing.Signer
}

// runGates runs the gates for a release whose content the repository has. If a gate holds
// the release, runGates stages it, and returns errStaged unless it was already staged.
// Gates don't run again then.
func (j *job) runGates(ctx context.Context, c Candidate) error {
	if j.options.Gates == nil {
		return nil
	}
	held, err := j.options.Gates.Enforce(ctx, j.repo, c)
	if held == nil {
		return err
	}
	wasStaged := j.options.Stage
	if j.held, j.options.Gates, j.options.Stage = held, nil, true; wasStaged {
		return nil
	}
	return errStaged
}
