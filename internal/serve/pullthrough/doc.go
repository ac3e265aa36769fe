// Package pullthrough brings releases from their origin registries into OCI
// repositories when somebody first asks for them, and lets whoever asks read the zip
// while it is on its way. Package serve uses it for what its repositories lack.
//
//	Fetch = origin registry → Release → policy → publish.Release, once
//	                                    ↘ a growing file → any number of readers
//
// A release is mirrored once in a process, however many want it at the same time, and
// each of its zips is downloaded once. Other processes may do the same at the same time:
// who comes later finds it there.
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
	// maxMirrors is how many releases are mirrored at once. Each has several zips, and
	// the hosts of releases throttle who takes many.
	maxMirrors = 4
	// maxWaiting is how many more may wait for their turn.
	maxWaiting = 64
	// maxDownloads is how many zips are fetched at once, for all of them together.
	maxDownloads = 8
	// maxMirror bounds the time that one may take: an origin must not hold a place for
	// ever by sending a byte a minute.
	maxMirror = 6 * time.Hour
	// failureAge is how long it is remembered that a release could not be mirrored.
	failureAge = time.Minute
	// maxFailures bounds how many are remembered.
	maxFailures = 4096
	// DefaultMaxDisk bounds the zips that are on their way, in bytes. The largest
	// releases have some 3 GB, of which a few zips move at once.
	DefaultMaxDisk = 8 << 30
)

// Options of a [Puller]. Patterns, Source and Open are needed.
type Options struct {
	// Patterns are the providers that may be had. Each names its host: whoever may ask
	// for any host makes the server ask any machine.
	Patterns []provider.Pattern
	// Source has the releases. What it says is kept by the caller for as long as it wants.
	Source provider.Source
	// Open opens the repository that a release goes to.
	Open func(ref template.Reference) (repository.Repository, error)
	// Publish says how releases are published there. Its Judge is asked as soon as the
	// documents of a release are known, and again for what the tag is to name.
	Publish publish.Options
	// Cooldown holds back what is too young. Nobody can be seen to have named a version
	// exactly here: whoever is to have a younger one mirrors it.
	Cooldown mirror.Cooldown
	// Dir is where zips lie while they are on their way; empty is the system's place.
	Dir string
	// MaxDisk bounds them, in bytes; 0 is [DefaultMaxDisk]. What has no room goes to the
	// repository all the same, and clients get it from there.
	MaxDisk int64
	// Told is told of what happens. It may be nil, and is called by several goroutines.
	OnEvent func(Event)
	// Backoff is the pause before another try; nil doubles from half a second.
	Backoff func(attempt int) time.Duration
	// Now is the clock; nil is [time.Now].
	Now func() time.Time
}

// Event is what happened to a release. Texts in it come from the network: whoever prints
// them escapes them.
type Event struct {
	// Stage is "started", "done", "failed" or "refused".
	Stage   string
	Address provider.Address
	Version provider.Version
	// Repository is where it goes; empty for what is refused.
	Repository string
	// Status is what publish found and did, when it is done.
	Status publish.Status
	// Verdict is what its signature proves, as far as that was judged.
	Verdict provider.Verdict
	// Bytes is how much was sent, Duration how long it took.
	Bytes    int64
	Duration time.Duration
	// Err is why it failed or is refused.
	Err error
}

// The stages of an [Event].
const (
	StageStarted = "started"
	StageDone    = "done"
	StageFailed  = "failed"
	StageRefused = "refused"
)

// ErrBusy says that too much is under way already.
var ErrBusy = provider.Errorf(provider.Transient, "too many releases are being brought here, try again later")

// ErrStored says that the repository has the release: it is to be had there.
var ErrStored = provider.Errorf(provider.Refused, "the repository has the release already")

// errNoRoom says that a zip cannot be kept while it is on its way.
var errNoRoom = fmt.Errorf("the disk has no room for zips on their way: %w", ErrBusy)

// errClosed says that the server is about to end.
var errClosed = fmt.Errorf("the server is about to end: %w", ErrBusy)

// RefusedError says that a release exists, and may not be had.
type RefusedError struct {
	Address provider.Address
	Version provider.Version
	// Err is the reason: a *[trust.RefusedError], a *[mirror.TooYoungError], a
	// *[repository.DeniedError], or the error of the check function of [Puller] Fetch.
	Err error
}

func (e *RefusedError) Error() string { return e.Err.Error() }

// Kind is [provider.Refused].
func (e *RefusedError) Kind() provider.ErrorKind { return provider.Refused }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// FailedError says that mirroring a release failed not long ago, and is not tried again
// before a minute is over.
type FailedError struct {
	Address provider.Address
	Version provider.Version
	// Again is when it is tried again.
	Again time.Time
	// Err is why it failed.
	Err error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("mirroring %s %s failed, and is tried again after %s: %v", e.Address, e.Version, e.Again.UTC().Format(time.RFC3339), e.Err)
}

// Kind is [provider.Transient].
func (e *FailedError) Kind() provider.ErrorKind { return provider.Transient }

// Unwrap returns the reason.
func (e *FailedError) Unwrap() error { return e.Err }
