package sync

import (
	"github.com/opencontainers/go-digest"
)

// Plan lists the actions that make repositories match a declaration. It is data: equal
// facts result in equal plans.
type Plan struct {
	// Declaration identifies the declaration that the plan is for.
	Declaration PlannedFile `json:"declaration"`
	// Trust is the digest of the trust file, or empty without one.
	Trust digest.Digest `json:"trust,omitempty"`
	// Shard restricts the providers of the plan.
	Shard Shard `json:"shard,omitzero"`
	// CheckLevel is the name of the check level.
	CheckLevel string `json:"check_level"`
	// Actions contains the actions, sorted by provider, version, and target.
	Actions []Action `json:"items"`
	// Summary is the number of actions of each kind.
	Summary Summary `json:"summary"`
}

// PlannedFile is a file that a plan was made from.
type PlannedFile struct {
	Path   string        `json:"path"`
	Digest digest.Digest `json:"digest"`
}

// Summary counts the releases of a plan.
type Summary struct {
	// Unchanged is the number of releases that the targets have and that need no action.
	Unchanged int `json:"unchanged"`
	// Actions is the number of actions of each kind. Kinds without actions are omitted.
	Actions map[Kind]int `json:"actions"`
}

// HasChanges reports whether the plan has actions that change a repository.
func (p *Plan) HasChanges() bool {
	for _, a := range p.Actions {
		if a.Kind.Changes() {
			return true
		}
	}
	return false
}
