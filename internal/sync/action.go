package sync

import (
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// Kind is the kind of an [Action].
type Kind string

const (
	// Mirror publishes a release that is missing from the target and comes from the
	// origin registry.
	Mirror Kind = "mirror"
	// Copy copies a release from another target.
	Copy Kind = "copy"
	// Stage publishes a release from the origin registry as pending.
	Stage Kind = "stage"
	// Extend adds platforms or documents to an existing release.
	Extend Kind = "extend"
	// Repair restores missing or damaged content of an existing release.
	Repair Kind = "repair"
	// Restore adds the version tag to a pruned release again, because it is selected
	// again.
	Restore Kind = "restore"
	// Hold postpones a step to a later run, for example until the release is old
	// enough.
	Hold Kind = "hold"
	// Skip does nothing, because the version is denied.
	Skip Kind = "skip"
	// Pending does nothing, because the release is waiting for approval.
	Pending Kind = "pending"
	// Deny denies an existing or pending release.
	Deny Kind = "deny"
	// Mark records the date on which a release stopped being selected.
	Mark Kind = "mark"
	// Unmark deletes the recorded date of a release, because the release is selected
	// again.
	Unmark Kind = "unmark"
	// PruneTag replaces the version tag of an unselected release, so that OpenTofu
	// ignores the release.
	PruneTag Kind = "prune"
	// Delete deletes a pruned release.
	Delete Kind = "delete"
	// Conflict does nothing, because the target's content conflicts with the source's
	// content.
	Conflict Kind = "conflict"
	// Fail does nothing, because the required facts could not be gathered.
	Fail Kind = "fail"
)

// Changes reports whether actions of this kind change a repository.
func (k Kind) Changes() bool {
	switch k {
	case Mirror, Copy, Stage, Extend, Repair, Restore, Deny, Mark, Unmark, PruneTag, Delete:
		return true
	}
	return false
}

// Action is one step of a [Plan]. It applies to one release in one target.
type Action struct {
	Kind Kind `json:"action"`
	// Target is the name of the target. It is empty if the action applies to a provider
	// instead of a target.
	Target string `json:"target,omitempty"`
	// Repository is the name of the repository in the target.
	Repository string           `json:"repository,omitempty"`
	Provider   provider.Address `json:"provider"`
	// Version is the zero value if the action applies to all versions of the provider.
	Version provider.Version `json:"version,omitzero"`
	// Tag is the tag that the action applies to.
	Tag string `json:"tag,omitempty"`
	// From is the digest that Tag points to before the action. It is empty if the tag does
	// not exist, or if the digest is unknown at the check level.
	From digest.Digest `json:"from,omitempty"`
	// Source is the name of the repository to copy from.
	Source string `json:"source,omitempty"`
	// Reason explains why the action is planned, without a final period.
	Reason string `json:"reason,omitempty"`
	// Eligible is the time from which a held-back release can be mirrored, or an
	// unselected release can be pruned.
	Eligible time.Time `json:"eligible,omitzero"`
	// Locked lists the declared lock files that select a version to deny.
	Locked []string `json:"locked,omitempty"`
	// Conflicts lists the reasons for a conflict.
	Conflicts []string `json:"conflicts,omitempty"`
	// Err is the reason for an action of the kind [Fail].
	Err error `json:"-"`
	// repeated reports whether an earlier run has recorded the denial, but the version's
	// tag still exists.
	repeated bool
}

// Result is the outcome of an action.
type Result struct {
	Action Action
	// Published is the result of publishing, for actions that publish.
	Published publish.Result
	// Err is the reason the action failed, or nil if it succeeded.
	Err error
	// Undeleted explains that nothing is pruned or deleted in a registry, because the
	// registry doesn't delete tags or manifests. It is set only in the first result for
	// the registry. The actions have the kind [Hold] instead of failing.
	Undeleted error
	// Bytes is the total size of the zips that were sent.
	Bytes int64
}
