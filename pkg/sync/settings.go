package sync

import (
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// Settings are the settings of one provider.
type Settings struct {
	// Versions is the constraint that selects versions.
	Versions provider.Constraint
	// Latest is the maximum number of selected versions, newest first. If zero, all matching
	// versions are selected.
	Latest int
	// None selects no versions, for latest = 0.
	None bool
	// PerMinor is the maximum number of selected versions of each minor version, newest
	// first. It is applied before Latest. If zero, it is not limited.
	PerMinor int
	// PreReleases also selects pre-releases whose releases meet Versions.
	PreReleases bool
	// Platforms restricts the platforms. If empty, all platforms are mirrored.
	Platforms []provider.Platform
	// MinAge is the minimum age of a version.
	MinAge time.Duration
	// Signatures specifies which signatures are required.
	Signatures trust.Mode
	// Stage publishes new releases as pending, so that they must be approved.
	Stage bool
	// Targets lists the names of the targets. It is never empty.
	Targets []string
	// Aliases allows releases of other providers to be used.
	Aliases provider.Aliases
}

// Setting is an effective setting of a provider and where it comes from.
type Setting struct {
	// Name is the name of the attribute.
	Name string
	// Value is the value as written in a declaration.
	Value string
	// Position is the line of the attribute, such as "mirror.hcl:12", or "default".
	Position string
}

// Wanted is a provider that a declaration selects.
type Wanted struct {
	Address  provider.Address
	Settings Settings
	// Requirements lists what selects versions of the provider. The selected versions are the
	// union of theirs. It is never empty.
	Requirements []Requirement
}

// Requirement is a requirement of a declaration.
type Requirement struct {
	provider.Requirement
	// From is where the requirement comes from: a line such as "mirror.hcl:12" or
	// "providers.txt:3", or the path of a lock file.
	From string
	// Locked reports that the requirement is the exact version in a lock file.
	Locked bool
}
