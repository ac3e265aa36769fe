package sync

import (
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// Options configures planning and applying. Declaration, Source, and Open are required.
type Options struct {
	Declaration *Declaration
	// Wanted and Problems are the results of the declaration's Wanted method.
	Wanted   []Wanted
	Problems []error
	// Shard restricts the run to the providers in a shard.
	Shard Shard
	// Check is the check level for existing releases. If zero,
	// [repository.DepthIndex] is used.
	Check repository.Depth
	// Now returns the current time. If nil, [time.Now] is used.
	Now func() time.Time
	// Source provides the releases in all origin registries.
	Source provider.Source
	// Modules provides the versions of modules, and PublishModule publishes a version.
	// Module addresses have the form of [module.Address.InRegistry]. Both are required
	// if modules are selected. See [module.MirrorOptions.PublishFunc].
	Modules       provider.Source
	PublishModule mirror.PublishFunc
	// Open returns the repository that a reference refers to. It is called for the
	// repositories of all targets.
	Open func(template.Reference) (repository.Repository, error)
	// Policy contains the rules of the trust file. The settings of each provider
	// override the policy's mode.
	Policy trust.Policy
	// Trust is the digest of the trust file. Without a trust file, it is empty.
	Trust digest.Digest
	// Publisher publishes all releases. If nil, a new Publisher is used.
	Publisher *publish.Publisher
	// TempDir is the temporary directory. If empty, the system's temporary directory is
	// used.
	TempDir string
	// OnStart, if not nil, is called when an action starts, possibly concurrently.
	// OnResult, if not nil, is called with the result of each action, sequentially in
	// the order of the plan.
	OnStart  func(Action)
	OnResult func(Result)

	// locked contains the lock file hashes in Wanted.
	locked lock.Selections
}
