package lock

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Options configures [Hashes], [Check], and [NewSource]. With the zero value,
// signatures are not verified.
type Options struct {
	// Platforms lists the platforms whose h1: hashes are used. If empty, [Hashes] uses
	// all platforms of the release, and [Check] uses this machine's platform. All zh:
	// hashes in SHA256SUMS are always used.
	Platforms []provider.Platform
	// ComputeH1 reads every zip and rejects incorrect h1: hashes in metadata. If false,
	// only zips without an h1: hash in the metadata are read.
	ComputeH1 bool
	// Verify, if not nil, verifies the signature of a release before anything is
	// locked. If it returns an error, the operation fails. Verify is typically a method
	// of trust.Policy.
	Verify func(context.Context, provider.Release) (provider.Verdict, error)
	// AllowUnlocked makes the source from [NewSource] return unlocked releases, too.
	AllowUnlocked bool
	// Configuration configures how configurations are read. If its field Terraform is
	// set, lock files are interpreted as Terraform does.
	Configuration configuration.Options
	// Template is the repository template of the source. [Check] uses it for commands
	// in remedies. If the CLI configuration determines the repository, it is the zero
	// value.
	Template template.Template
	// Repository, if not nil, opens the OCI repository of a provider. [Check] uses it to
	// find pending and denied versions.
	Repository func(provider.Address) (repository.Reader, error)
	// TempDir is the directory for zips that can't be hashed while they are downloaded.
	// If empty, the system's temporary directory is used.
	TempDir string
	// Progress reports the progress of reading zips, and retries.
	Progress provider.Progress
	// Backoff returns the delay after the given number of failures. If nil, the delay
	// starts at half a second and doubles.
	Backoff func(failed int) time.Duration

	// cache caches hashes. If nil, nothing is cached.
	cache *memo.Memo[cacheKey, []lockfile.Hash]
	// slots limits the number of zips that are read concurrently.
	slots *schedule.Limiter
}

// cacheKey identifies a release and some of its platforms in the cache.
type cacheKey struct {
	address   provider.Address
	version   provider.Version
	platforms string
}

// WithCache returns options that cache hashes and verdicts. All calls with these
// options share the cache, so they must use the same source.
func (o Options) WithCache() Options {
	o.cache = &memo.Memo[cacheKey, []lockfile.Hash]{}
	if verify := o.Verify; verify != nil {
		verdicts := &memo.Memo[cacheKey, provider.Verdict]{}
		o.Verify = func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
			return verdicts.Get(ctx, cacheKey{r.Address, r.Version, ""}, func(ctx context.Context) (provider.Verdict, error) { return verify(ctx, r) })
		}
	}
	return o.bounded()
}

// bounded returns options that limit concurrent reading. All calls with these options
// share the limit.
func (o Options) bounded() Options {
	if o.slots == nil {
		o.slots = schedule.NewLimiter(zipsAtOnce, 0)
	}
	return o
}

// Hashes returns the hashes of a version for a lock file, sorted and without
// duplicates. The result contains the h1: hash of each platform's package. As in
// OpenTofu's lock files for signed releases, it also contains the zh: hash from each
// line of SHA256SUMS. If a package's digest doesn't match SHA256SUMS, Hashes returns an
// error.
func Hashes(ctx context.Context, src provider.Source, a provider.Address, v provider.Version, o Options) ([]lockfile.Hash, error) {
	o = o.bounded()
	cache := o.cache
	if cache == nil {
		cache = &memo.Memo[cacheKey, []lockfile.Hash]{}
	}
	key := cacheKey{a, v, fmt.Sprint(provider.SortPlatforms(o.Platforms))}
	hashes, err := cache.Get(ctx, key, func(ctx context.Context) ([]lockfile.Hash, error) { return hashesOf(ctx, src, a, v, o) })
	if err != nil {
		return nil, &provider.Error{Op: "locking", Address: a, Version: v, Err: err}
	}
	return slices.Clone(hashes), nil
}

func hashesOf(ctx context.Context, src provider.Source, a provider.Address, v provider.Version, o Options) ([]lockfile.Hash, error) {
	// 1. Fetch the release, and verify its signature.
	release, err := src.Release(ctx, a, v)
	if err != nil {
		return nil, err
	}
	if o.Verify != nil {
		if _, err := o.Verify(ctx, release); err != nil {
			return nil, err
		}
	}
	// 2. Collect zh: hashes from SHA256SUMS and digests.
	hashes, err := zipHashes(release)
	if err != nil {
		return nil, err
	}
	// 3. Collect h1: hashes from metadata, or compute them.
	contents, err := contentHashes(ctx, src, release, o)
	if err != nil {
		return nil, err
	}
	hashes = append(hashes, contents...)
	slices.Sort(hashes)
	return slices.Compact(hashes), nil
}

// zipHashes returns the zh: hashes of a release.
func zipHashes(r provider.Release) ([]lockfile.Hash, error) {
	var hashes []lockfile.Hash
	if listed, ok := r.Document(provider.KindSums); ok {
		if err := source.VerifySums(listed, r.Packages...); err != nil {
			return nil, err
		}
		hashes = listedHashes(listed.Bytes)
	}
	for _, p := range r.Packages {
		if p.Digest != "" {
			hashes = append(hashes, zh(p.Digest))
		}
	}
	return hashes, nil
}

// listedHashes returns the hashes in all lines of SHA256SUMS, including hashes of other
// files. It returns nil if a line is invalid. OpenTofu's acceptableHashes in
// internal/getproviders behaves in the same way, except that it panics on blank lines.
func listedHashes(document []byte) []lockfile.Hash {
	var hashes []lockfile.Hash
	for line := range bytes.Lines(document) {
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			continue
		}
		sum, err := hex.DecodeString(string(fields[0]))
		if err != nil || len(sum) != digest.SHA256.Size() || len(fields) < 2 {
			return nil
		}
		hashes = append(hashes, zh(digest.NewDigestFromEncoded(digest.SHA256, hex.EncodeToString(sum))))
	}
	return hashes
}

// contentHashes returns the h1: hashes of a release.
func contentHashes(ctx context.Context, src provider.Source, r provider.Release, o Options) ([]lockfile.Hash, error) {
	packages := slices.Clone(r.Packages)
	if len(o.Platforms) > 0 {
		if _, err := provider.ChoosePlatforms(r.Address, r.Version, r.Platforms(), o.Platforms); err != nil {
			return nil, err
		}
		packages = slices.DeleteFunc(packages, func(p provider.Package) bool { return !slices.Contains(o.Platforms, p.Platform) })
	}
	zips := o.reader(src)
	hashes := make([][]lockfile.Hash, len(packages))
	err := schedule.All(ctx, zipsAtOnce, packages, func(ctx context.Context, i int, p provider.Package) (err error) {
		if p.H1 != "" && (!o.ComputeH1 || p.Digest == "") {
			hashes[i] = contentsOf(p)
			return nil
		}
		hashes[i], err = zips.hashes(ctx, p)
		return err
	})
	return slices.Concat(hashes...), err
}

// contentsOf returns the h1: hashes of a package according to its metadata.
func contentsOf(p provider.Package) []lockfile.Hash { return toHashes(p.H1Hashes()) }

func toHashes(texts []string) []lockfile.Hash {
	var hashes []lockfile.Hash
	for _, text := range texts {
		hashes = append(hashes, lockfile.Hash(text))
	}
	return hashes
}

// containsContents reports whether the hashes include an h1: hash of a package.
func containsContents(hashes []lockfile.Hash, p provider.Package) bool {
	return slices.ContainsFunc(contentsOf(p), func(h lockfile.Hash) bool { return slices.Contains(hashes, h) })
}

// zipsAtOnce is the maximum number of zips that are read concurrently. Reading a zip
// uses the network and a CPU core at the same time.
const zipsAtOnce = 4

// zipReader computes hashes of zips.
type zipReader struct {
	src      provider.Source
	slots    *schedule.Limiter
	tempDir  string
	progress provider.Progress
	backoff  func(failed int) time.Duration
}

func (o Options) reader(src provider.Source) zipReader {
	return zipReader{src: src, slots: o.slots, tempDir: o.TempDir, progress: o.Progress, backoff: o.Backoff}
}

// hashes returns the h1: hash of a zip and, if it differs, the h1: hash of the unpacked
// directory. If the package's h1: hash is not the h1: hash of the zip, hashes returns
// an error.
func (r zipReader) hashes(ctx context.Context, p provider.Package) ([]lockfile.Hash, error) {
	release, err := r.slots.Acquire(ctx, "")
	if err != nil {
		return nil, err
	}
	defer release()
	open := func(ctx context.Context) (io.ReadCloser, error) {
		body, size, err := r.src.Open(ctx, p)
		if err != nil {
			return nil, err
		}
		return transfer.Watch(r.progress, p, size, body), nil
	}
	var contents packagezip.Contents
	retrier := transfer.Retrier{Backoff: r.backoff, Progress: r.progress}
	err = retrier.Do(ctx, "reading "+p.Filename, func() (err error) {
		contents, err = packagezip.HashAny(ctx, open, p.Size, r.tempDir)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", p.Filename, err)
	}
	if err := contents.VerifyH1(p.Filename, p.H1); err != nil {
		return nil, err
	}
	return toHashes(contents.H1Hashes()), nil
}
