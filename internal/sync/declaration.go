package sync

import (
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/gate"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Declaration is a parsed declaration. File paths in the declaration are either
// absolute or relative to the current directory.
type Declaration struct {
	// Path is the path of the declaration.
	Path string
	// Digest is the digest of the declaration's content.
	Digest digest.Digest
	// Trust is the path of the trust file. It is empty if no trust file is used.
	Trust string
	// Sources lists the files that contain PROVIDERs.
	Sources []string
	// LockFiles lists the names and patterns of lock files.
	LockFiles []string
	// Terraform reports whether lock files are interpreted as Terraform does.
	Terraform bool
	// Roots lists the directories of root configurations, and patterns that match
	// directories.
	Roots []string
	// Targets lists the targets. A target with From comes after the target that From
	// specifies.
	Targets []Target
	// Denials lists the deny blocks in the order of the file.
	Denials []Denial
	// gates contains the gate blocks.
	gates gate.Gates
	// Prune is the prune block, or nil if nothing is pruned.
	Prune *Prune
	// Notify is the notify block, or nil if no notifications are sent.
	Notify *Notify

	defaults *block
	// named contains the provider and module blocks with an address. patterns contains the
	// remaining blocks, the most specific first.
	named    map[provider.Address]*block
	patterns []*block
}

// Target is a set of repositories to write to.
type Target struct {
	Name     string
	Template template.Template
	// Modules is the template for the repositories of modules. It is the zero value if
	// no modules are mirrored to the target.
	Modules template.ModuleTemplate
	// From is the name of the target from which releases are copied. If empty, they are
	// mirrored from origin registries.
	From string
}

// Denial denies the versions of providers or modules that match both Pattern and
// Versions.
type Denial struct {
	Pattern Pattern
	// Versions is the constraint that denied versions meet.
	Versions provider.Constraint
	// Reason explains why the versions are denied.
	Reason string
	// By is the person who made the decision. It can be empty.
	By string
	// Position is the file and line of the block, such as "mirror.hcl:12".
	Position string
}

// Denies reports whether the block denies a version. A range of versions also denies
// the pre-releases within the range, although they don't meet the constraint.
func (d Denial) Denies(a provider.Address, v provider.Version) bool {
	c := d.Versions
	if a.IsRegistryModule() {
		c = c.ForModules()
	}
	return d.Pattern.Match(a) && includes(c, v)
}

// includes reports whether a version meets a constraint. A pre-release is included if
// its final release meets the constraint.
func includes(c provider.Constraint, v provider.Version) bool {
	r := provider.Requirement{Constraint: c}
	return c.Allows(v) || len(r.PreReleases([]provider.Version{v})) > 0
}

// Prune specifies how unselected releases are removed.
type Prune struct {
	// Delete enables pruning. Otherwise, unselected releases are only reported.
	Delete bool
	// KeepPrevious is the number of unselected versions to keep. These are the newest
	// ones that are older than the newest selected version.
	KeepPrevious int
	// KeepFor is the minimum time for which a release must be unselected before it is
	// pruned. It is also the minimum time between the release's pruning and its
	// deletion.
	KeepFor time.Duration
	// MaxDelete is the maximum number of releases that one run prunes, deletes, or denies.
	// Shards share it, with at least 1 per shard.
	MaxDelete int
}

// Notify specifies where notifications are sent.
type Notify struct {
	// URLEnv is the name of the environment variable that contains the URL.
	URLEnv string
	// Format is the format of the request: "slack" or "json".
	Format string
}
