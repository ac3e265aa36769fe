// Package pullthrough mirrors releases from origin registries to OCI repositories on
// first request. It streams each zip to clients while the zip is being mirrored.
// Package serve uses it for providers and modules that are not in its repositories.
//
//	Fetch  = origin registry → Release → policy → publish.Release, once
//	                                     ↘ a growing file → any number of readers
//	Mirror = module registry → policy → module.Mirror, once
//
// Within a process, concurrent requests for a release share one mirror operation, and
// each zip is downloaded only once. Processes don't coordinate. If two of them mirror
// the same release, the second process finds the release in the repository.
package pullthrough

import (
	"fmt"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	// maxMirrors limits the number of releases that are mirrored concurrently. Each
	// release has several zips, whose hosts throttle clients that send many requests.
	maxMirrors = 4
	// maxWaiting limits the number of additional releases that wait to be mirrored.
	maxWaiting = 64
	// maxDownloads limits the number of zips that are downloaded concurrently for all
	// releases.
	maxDownloads = 8
	// maxMirror limits the duration of a mirror operation, so that a slow origin can't
	// block other operations forever.
	maxMirror = 6 * time.Hour
	// failureAge is how long a failure is remembered.
	failureAge = time.Minute
	// brokenAge is how long a version is hidden if its files are missing from the
	// origin or a gate denies it.
	brokenAge = time.Hour
	// maxFailures limits the number of remembered failures and hidden versions.
	maxFailures = 4096
)

// Options configures a [Puller]. Open is required. To pull providers, set Patterns and
// Source. To pull modules, set Modules, ModuleSource, and MirrorModule. At least one of
// Patterns and Modules is required.
type Options struct {
	// Patterns and Modules contain the patterns of providers and modules that can be
	// pulled through. Each pattern must specify a host, because otherwise clients could
	// make the server contact any host.
	Patterns []provider.Pattern
	Modules  []provider.ModulePattern
	// Source returns the releases of providers. ModuleSource returns the versions of
	// modules. It expects addresses as returned by module.Address.InRegistry. The caller
	// is responsible for caching.
	Source, ModuleSource provider.Source
	// MirrorModule mirrors a version of a module.
	MirrorModule mirror.PublishFunc
	// Open opens the repository to which a release is mirrored.
	Open func(ref template.Reference) (repository.Repository, error)
	// Publish configures publishing. Its Verify function is called as soon as a
	// release's documents are known, and again for the content that the tag points to.
	Publish publish.Options
	// Cooldown holds back releases that are too young. This package can't detect exact
	// version pins, so mirror a recent version explicitly to make it available.
	Cooldown mirror.Cooldown
	// Dir is the directory for temporary zips. If empty, the system's temporary
	// directory is used.
	Dir string
	// MaxDisk limits the disk space for temporary zips, in bytes. If zero,
	// [spool.DefaultMaxDisk] is used. A zip that exceeds the limit is mirrored without
	// a temporary file, and clients can then fetch it from the repository.
	MaxDisk int64
	// MaxQueue limits how long [Puller.Fetch] waits for a slot, the repository, and the
	// origin until a zip's size is known. If zero, the limit is 45 seconds.
	MaxQueue time.Duration
	// OnEvent, if not nil, is called for each event, possibly concurrently.
	OnEvent func(Event)
	// Backoff returns the pause before a retry. If nil, the first pause is half a
	// second, and each subsequent pause is twice as long as the previous one.
	Backoff func(attempt int) time.Duration
	// Now returns the current time. If nil, [time.Now] is used.
	Now func() time.Time
}

// Event describes a step of pulling a release. Its strings are untrusted and must be
// escaped for output.
type Event struct {
	// Stage is one of the Stage constants.
	Stage   string
	Address provider.Address
	Version provider.Version
	// Repository is the target repository. It is empty if the release was rejected
	// before a repository was chosen.
	Repository string
	// Status is the publishing result if the stage is [StageDone].
	Status publish.Status
	// Verdict is the result of verifying the signature, if the signature was verified.
	Verdict provider.Verdict
	// Bytes is the total size of a provider's zips that were sent to the repository.
	// Duration is the time since the start.
	Bytes    int64
	Duration time.Duration
	// Err explains a failure or rejection.
	Err error
}

// Stages of an [Event].
const (
	StageStarted = "started"
	StageDone    = "done"
	StageFailed  = "failed"
	StageRefused = "refused"
)

// ErrBusy means that too many releases are being mirrored.
var ErrBusy = provider.Errorf(provider.Transient, "too many releases are being mirrored; try again later")

// ErrStored means that the repository now contains the release, so that clients can
// read the release there.
var ErrStored = provider.Errorf(provider.Refused, "the release is already in the repository")

// errClosed means that [Puller.Close] was called.
var errClosed = fmt.Errorf("the server is shutting down: %w", ErrBusy)

// RefusedError means that a release exists, but the policy does not allow serving it.
type RefusedError struct {
	Address provider.Address
	Version provider.Version
	// Err is the reason: a *[trust.RefusedError], a *[mirror.TooYoungError], a
	// *[repository.DeniedError], or the error of the check function that was passed to
	// [Puller.Fetch].
	Err error
}

func (e *RefusedError) Error() string { return e.Err.Error() }

// Kind returns [provider.Refused].
func (e *RefusedError) Kind() provider.ErrorKind { return provider.Refused }

// Unwrap returns Err.
func (e *RefusedError) Unwrap() error { return e.Err }

// FailedError means that mirroring a release failed recently. The operation is not
// retried for a minute.
type FailedError struct {
	Address provider.Address
	Version provider.Version
	// Again is the time at which the next attempt is allowed.
	Again time.Time
	// Err explains why mirroring failed.
	Err error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("mirroring %s %s failed and can be retried after %s: %v", e.Address, e.Version, e.Again.UTC().Format(time.RFC3339), e.Err)
}

// Kind returns [provider.Transient].
func (e *FailedError) Kind() provider.ErrorKind { return provider.Transient }

// Unwrap returns Err.
func (e *FailedError) Unwrap() error { return e.Err }
