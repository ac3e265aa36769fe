// Package publish puts releases into OCI repositories: it compares what a source
// has with what lies under the version's tag, sends what is missing, and moves
// the tag last.
//
//	mirror  = origin registry → Release → plan → OCI repository
//	publish = local zips      → Release → plan → OCI repository
//	copy    = OCI repository  → the same bytes in another OCI repository
//
// Use it to bring one release of any [provider.Source] into a repository, or a release
// of one repository as it is into another; package mirror does so for many.
package publish

import (
	"context"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// DefaultConcurrency is how many zips move at once. More makes release hosts
// throttle rather than hurry.
const DefaultConcurrency = 4

// DefaultSettle is longer than what lies between another job's look at a tag and
// its write, which are two requests: a registry has no way to move a tag only if
// nobody else did.
const DefaultSettle = 500 * time.Millisecond

// Options of [Release]. The zero value publishes all platforms with h1 hashes.
type Options struct {
	// Platforms are those wanted; none means all that the release has.
	Platforms []provider.Platform
	// SourceURL becomes org.opencontainers.image.source.
	SourceURL string
	// Annotations are added to the index. Where nothing else changes they do
	// not count, see [Result.AnnotationsKept].
	Annotations map[string]string
	// SBOM makes a package's SBOM of its zip, a local file, before the package
	// is sent, unless the source or the repository has one; nil makes none.
	// [SBOMProgram] makes one of a command line.
	SBOM func(ctx context.Context, p provider.Package, zip string) (provider.Document, error)
	// OnMissingRepository makes the repository when the registry says that
	// there is none; nil leaves it at that. See [RepositoryProgram].
	OnMissingRepository func(ctx context.Context) error
	// Aliases are the providers whose releases the repository may have instead:
	// one that is added to stays theirs.
	Aliases provider.Aliases
	// Seen remembers what is asked of a repository; those who publish many releases
	// share one of these, so that it is asked once. May be nil.
	Seen *Seen
	// NoH1 leaves out h1 hashes that the source does not state.
	NoH1 bool
	// Judge says what the signature of a release proves, before anything of it is
	// sent: it is given what the tag is to name, with the keys that the source
	// offers. Its error ends the run. What is unchanged is judged again only with
	// Recheck. nil judges nothing; the methods of trust.Policy are such functions.
	Judge func(ctx context.Context, r provider.Release) (provider.Verdict, error)
	// Signer signs the SHA256SUMS of a release that has no signature, and adds its
	// public key. What it signed before may be extended: the sums are then made and
	// signed anew. nil signs nothing.
	Signer Signer
	// Keys gives the public keys, armored, that made signatures of SHA256SUMS; nil when
	// they are not at hand. They go along with a local build that is signed, so that
	// others can pin them, also where it is stored without them. Sources of published
	// releases offer keys themselves. The method KeysOf of trust.Keyring is such a
	// function; nil adds no keys.
	Keys func(sums []byte, signatures ...[]byte) ([]byte, error)
	// Recheck asks a remote source for its digests also when every wanted
	// platform is there and whole, and has the signature judged again. A published
	// version never changes, so this finds only those that were changed against
	// the rules: *[repository.ConflictError].
	Recheck bool
	// Check is how hard a release that is there is looked at.
	Check Check
	// Force replaces what conflicts instead of refusing it, and overrules a denial.
	Force bool
	// Stage puts the release under its pending tag, which OpenTofu does not see, until
	// approval.Promote moves it to its version. What the version holds already is taken
	// along, so that a tag is all that has to move.
	Stage bool
	// DryRun compares and sends nothing.
	DryRun bool
	// NoReferrers leaves out what is about all platforms and would refer to the index,
	// for registries that hold no lists of that: [repository.ErrSubject].
	NoReferrers bool
	// Concurrency is how many zips move at once; 0 is [DefaultConcurrency].
	Concurrency int
	// Acquire is asked before a zip moves, with its size in bytes or -1, and waits
	// until it may; the zip has moved when release is called, or is about to make
	// its last try and asks again. It is for several releases that share a limit, as
	// mirror.Run has them, and limits further than Concurrency. Nil is a limit of
	// the release's own. Both let a last try move alone.
	Acquire func(ctx context.Context, size int64) (release func(), err error)
	// TempDir is for zips that have to be kept until their h1 is known; empty
	// is the system's.
	TempDir string
	// Backoff is the pause before another try; nil doubles from half a second.
	Backoff func(attempt int) time.Duration
	// Settle is how long to wait, after writing a tag in a registry, before
	// looking whether another job of the same build matrix has overwritten it; 0
	// is [DefaultSettle]. Layouts need no wait, nor do whole releases of remote
	// sources.
	Settle time.Duration
	// Progress is told what moves.
	Progress provider.Progress
}

// Status is what a publish found and did.
type Status string

// The outcomes that are no errors. A conflict is a *[repository.ConflictError].
const (
	// Created: the tag was not there.
	Created Status = "created"
	// Unchanged: every wanted platform was there with the same zip, nothing
	// was sent.
	Unchanged Status = "unchanged"
	// Extended: platforms were added beside equal ones, or evidence to packages
	// that were there, see [Result] Added.
	Extended Status = "extended"
	// Healed: content that the tag needs was missing and is back.
	Healed Status = "healed"
	// Replaced: what conflicted was overwritten, as Force says.
	Replaced Status = "replaced"
	// Denied: the version is denied, so nothing was sent. Package mirror reports this for a
	// version that was not named exactly; [Release] and [Copy] return an error.
	Denied Status = "denied"
)

// Result says what became of a release.
type Result struct {
	Address provider.Address
	Version provider.Version
	Status  Status
	// Tag and Digest are the index's, after a conflict that of what is there: the tag is
	// the pending one of what was staged, and the version's own where that is promoted
	// already; empty digest in a dry run that would send something, and where
	// [CheckTags] found the tag. Where other runs
	// publish at the same time, the index may be one that another run made of our
	// packages and its own.
	Tag    string
	Digest digest.Digest
	// Source is the digest of the index that [Copy] found at the source, where the tag
	// stays at another one.
	Source digest.Digest
	// Packages are the wanted ones, sorted by platform; none where [CheckTags] found
	// the tag.
	Packages []PackageResult
	// Documents are those about the whole release that go along; none where nothing
	// is sent. Those about a package are with it, and Attached names referrers.
	Documents []provider.Document
	// Verdict is what Judge said; none where it was not asked.
	Verdict provider.Verdict
	// Released reports that a release to be staged is already released, with or without
	// approval.
	Released bool
	// Denial is why the version is denied; nil if it is not.
	Denial *repository.DenialRecord
	// Dropped are the platforms that the tag held and that Force left out: the
	// new evidence does not list them, or they were damaged.
	Dropped []provider.Platform
	// Added are the names of documents that came to packages which were there.
	Added []string
	// Attached are the names of the referrers that this run attached.
	Attached []string
	// AnnotationsKept tells that other annotations were asked for than the tag
	// has, which alone is no reason to write it again.
	AnnotationsKept bool
	// Slow tells that writing took longer than Settle, in a registry: a job that
	// published this version at the same time and took longer still may have lost
	// what this one wrote, or the other way round. Running both again mends it.
	Slow bool
	// Moved counts how often another run moved the tag meanwhile and its
	// platforms were merged in.
	Moved int
}

// PackageResult says what became of a package.
type PackageResult struct {
	Package provider.Package
	// Sent tells whether the zip was read from the source and pushed; else the
	// repository had it.
	Sent bool
	// Mounted tells that the registry took the zip over from the repository that
	// [Copy] read.
	Mounted bool
}
