// Package publish puts releases into OCI repositories: it compares what a source
// has with what lies under the version's tag, sends what is missing, and moves
// the tag last.
//
//	mirror  = source.Registry → Release → artifact.Pack → OCI repository
//	publish = source.Dir      → Release → artifact.Pack → OCI repository
package publish

import (
	"context"
	"io"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Reader reads a repository. What is missing is [artifact.ErrNotFound] or
// [artifact.ErrNoRepository].
type Reader interface {
	// Tags lists all tags, in any order.
	Tags(ctx context.Context) ([]string, error)
	// Manifest reads a manifest or index by tag or digest, verified.
	Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error)
	// Blob opens a blob; the bytes need not be verified.
	Blob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error)
	// Stat gives a blob's size in bytes without reading it.
	Stat(ctx context.Context, d digest.Digest) (int64, error)
}

// Writer writes a repository.
type Writer interface {
	// PushBlob stores a blob that content delivers exactly.
	PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error
	// PushManifest stores a manifest under its digest.
	PushManifest(ctx context.Context, m artifact.Blob) error
	// PushTag stores the index under a tag that still is at was (empty: not
	// there), else the error is [artifact.ErrTagMoved].
	PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error
}

// Repository is where releases go.
type Repository interface {
	Reader
	Writer
}

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
	SBOM func(ctx context.Context, p provider.Package, zip string) (provider.Attachment, error)
	// OnMissingRepository makes the repository when the registry says that
	// there is none; nil leaves it at that. See [RepositoryProgram].
	OnMissingRepository func(ctx context.Context) error
	// NoH1 leaves out h1 hashes that the source does not state.
	NoH1 bool
	// Recheck asks a remote source for its digests also when every wanted
	// platform is there and whole. A published version never changes, so this
	// finds only those that were changed against the rules: *[ConflictError].
	Recheck bool
	// Force replaces what conflicts instead of refusing it.
	Force bool
	// DryRun compares and sends nothing.
	DryRun bool
	// Concurrency is how many zips move at once; 0 is [DefaultConcurrency].
	Concurrency int
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

// The outcomes that are no errors. A conflict is a *[ConflictError].
const (
	// Created: the tag was not there.
	Created Status = "created"
	// Unchanged: every wanted platform was there with the same zip, nothing
	// was sent.
	Unchanged Status = "unchanged"
	// Extended: platforms were added beside equal ones.
	Extended Status = "extended"
	// Healed: content that the tag needs was missing and is back.
	Healed Status = "healed"
	// Replaced: what conflicted was overwritten, as Force says.
	Replaced Status = "replaced"
)

// Result says what became of a release.
type Result struct {
	Address provider.Address
	Version provider.Version
	Status  Status
	// Tag and Digest are the index's: empty digest in a dry run that would
	// send something. Where other runs publish at the same time, the index may
	// be one that another run made of our packages and its own.
	Tag    string
	Digest digest.Digest
	// Packages are the wanted ones, sorted by platform.
	Packages []PackageResult
	// Dropped are the platforms that the tag held and that Force left out: the
	// new evidence does not list them, or they were damaged.
	Dropped []provider.Platform
	// Attached are the names of the referrers that this run attached.
	Attached []string
	// AnnotationsKept tells that other annotations were asked for than the tag
	// has, which alone is no reason to write it again.
	AnnotationsKept bool
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
}
