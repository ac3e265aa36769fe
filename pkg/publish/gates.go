package publish

import (
	"context"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Gates decide whether releases can be tagged.
type Gates interface {
	// Decides reports whether at least one gate runs for the release. If the gates then
	// allow the release, the version's pending release needs no approval by a person.
	Decides(c Candidate) bool
	// Enforce runs the gates for a release whose content the repository already has,
	// and records their decisions. If the release must become or stay pending, held is
	// the reason. If a gate denies the release, the error is a
	// *[repository.DeniedError], and the tag isn't written. Earlier decisions of gates
	// have no effect, because the gates decide before each tag is written.
	Enforce(ctx context.Context, repo repository.Repository, c Candidate) (held *HeldError, err error)
}

// Actions that require a decision by the gates.
const (
	ActionMirror  = "mirror"
	ActionPublish = "publish"
	ActionCopy    = "copy"
	ActionImport  = "import"
	ActionPromote = "promote"
	ActionModule  = "module"
)

// HeldError reports that a release is held, which means that it becomes or stays pending.
type HeldError struct {
	// Gate is the name of the gate that holds the release. It is empty if a rule of the
	// caller holds the release.
	Gate string
	// Reason is the explanation of the gate or rule. It is empty if the gate failed.
	Reason string
	// Err is the reason the gate failed.
	Err error
}

func (e *HeldError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("held because gate %q failed: %v", e.Gate, e.Err)
	}
	if e.Gate == "" {
		return "held: " + e.Reason
	}
	return fmt.Sprintf("held by gate %q: %s", e.Gate, e.Reason)
}

// Kind returns [provider.Refused].
func (e *HeldError) Kind() provider.ErrorKind { return provider.Refused }

// Unwrap returns the reason the gate failed, or nil.
func (e *HeldError) Unwrap() error { return e.Err }

// Failure returns the error if the gate failed. Otherwise, it returns nil.
func (e *HeldError) Failure() error {
	if e == nil || e.Err == nil {
		return nil
	}
	return e
}

// recordSigner returns the signer for recorded decisions, or nil.
func (j *job) recordSigner() artifact.Signer {
	if s := j.options.RecordSigner; s != nil {
		return s
	}
	return j.options.Signing.Signer
}
