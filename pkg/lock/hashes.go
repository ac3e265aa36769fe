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
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Options of a release's hashes. The zero value takes those of all platforms, and
// judges no signature.
type Options struct {
	// Platforms are those whose h1 hashes are wanted; none means all that the
	// release has. The zh hashes are always all that the sums list.
	Platforms []provider.Platform
	// ComputeH1 reads every zip, and refuses an h1 that is stated wrongly. Without
	// it, only those zips are read whose h1 nobody states.
	ComputeH1 bool
	// Verify says what the signature of the release proves, before anything is
	// locked; its error ends the work. nil judges nothing; the methods of
	// trust.Policy are such functions.
	Verify func(context.Context, provider.Release) (provider.Verdict, error)
	// Template is what named the repository that the source looks in, for the commands
	// in remedies of [Check]; the zero value where the CLI configuration names it.
	Template template.Template
	// Repository opens the OCI repository of a provider, in which [Check] looks for pending
	// and denied versions. May be nil.
	Repository func(provider.Address) (repository.Reader, error)
	// TempDir is where zips are kept that can't be read as they pass; empty is the
	// system's place.
	TempDir string
	// Progress is told of the zips that are read, and of those begun anew.
	Progress provider.Progress
	// Backoff is the pause after the given number of failures; nil doubles from
	// half a second.
	Backoff func(failed int) time.Duration

	// made are the hashes that were made before; nil keeps none.
	made *memo.Memo[hashed, []lockfile.Hash]
	// slots bound how many zips are read at the same time.
	slots *schedule.Limiter
}

// hashed is what hashes are made of.
type hashed struct {
	address   provider.Address
	version   provider.Version
	platforms string
}

// Remembering returns options with which the hashes of a release are made once, and
// its signature is judged once, by all calls that have them and the same source.
func (o Options) Remembering() Options {
	o.made = &memo.Memo[hashed, []lockfile.Hash]{}
	if judge := o.Verify; judge != nil {
		judged := &memo.Memo[hashed, provider.Verdict]{}
		o.Verify = func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
			return judged.Get(ctx, hashed{r.Address, r.Version, ""}, func(ctx context.Context) (provider.Verdict, error) { return judge(ctx, r) })
		}
	}
	return o.bounded()
}

// bounded lets all that these options are given to read few zips at once.
func (o Options) bounded() Options {
	if o.slots == nil {
		o.slots = schedule.NewLimiter(zipsAtOnce, 0)
	}
	return o
}

// Hashes returns what a lock file says of a version: the zh of every line of its
// SHA256SUMS, as OpenTofu locks a signed release, and the h1 of every platform.
// The sums have been held against the digests of the packages. They are sorted, each
// once.
func Hashes(ctx context.Context, src provider.Source, a provider.Address, v provider.Version, o Options) ([]lockfile.Hash, error) {
	o = o.bounded()
	made := o.made
	if made == nil {
		made = &memo.Memo[hashed, []lockfile.Hash]{}
	}
	key := hashed{a, v, fmt.Sprint(provider.SortPlatforms(o.Platforms))}
	hashes, err := made.Get(ctx, key, func(ctx context.Context) ([]lockfile.Hash, error) { return hashesOf(ctx, src, a, v, o) })
	if err != nil {
		return nil, &provider.Error{Op: "locking", Address: a, Version: v, Err: err}
	}
	return slices.Clone(hashes), nil
}

func hashesOf(ctx context.Context, src provider.Source, a provider.Address, v provider.Version, o Options) ([]lockfile.Hash, error) {
	// 1. What there is, and what proves it.
	release, err := src.Release(ctx, a, v)
	if err != nil {
		return nil, err
	}
	if o.Verify != nil {
		if _, err := o.Verify(ctx, release); err != nil {
			return nil, err
		}
	}
	// 2. The zips, by sums and digests alone.
	hashes, err := zipHashes(release)
	if err != nil {
		return nil, err
	}
	// 3. What they hold, as it is stated, or by reading them.
	contents, err := contentHashes(ctx, src, release, o)
	if err != nil {
		return nil, err
	}
	hashes = append(hashes, contents...)
	slices.Sort(hashes)
	return slices.Compact(hashes), nil
}

// zipHashes returns the zh hashes.
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
			hashes = append(hashes, lockfile.Hash(sums.ZH(p.Digest)))
		}
	}
	return hashes, nil
}

// listedHashes returns the hash of every line, whatever file it is about; none when a
// line is not of the form. That is OpenTofu's rule, acceptableHashes in its
// internal/getproviders, but for blank lines, upon which it panics.
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
		hashes = append(hashes, lockfile.Hash(sums.ZH(digest.NewDigestFromEncoded(digest.SHA256, hex.EncodeToString(sum)))))
	}
	return hashes
}

// contentHashes returns the h1 hashes.
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
	err := eachPackage(ctx, packages, func(ctx context.Context, i int, p provider.Package) (err error) {
		if p.H1 != "" && (!o.ComputeH1 || p.Digest == "") {
			hashes[i] = []lockfile.Hash{lockfile.Hash(p.H1)}
			return nil
		}
		hashes[i], err = zips.hashes(ctx, p)
		return err
	})
	return slices.Concat(hashes...), err
}

// zipsAtOnce is how many zips are read at the same time: hashing keeps a core busy,
// and reading the network.
const zipsAtOnce = 4

// eachPackage does something with each package, several at once; the first error
// ends it.
func eachPackage(ctx context.Context, packages []provider.Package, do func(ctx context.Context, i int, p provider.Package) error) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(zipsAtOnce)
	for i, p := range packages {
		group.Go(func() error { return do(groupCtx, i, p) })
	}
	return group.Wait()
}

// zipReader reads zips for what is in them.
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

// hashes returns the h1 of a zip and, where that is another one, the h1 of the
// directory that it unpacks to. What is stated of it has to be true.
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
	hashes := []lockfile.Hash{lockfile.Hash(contents.H1)}
	if contents.H1Unpacked != contents.H1 {
		hashes = append(hashes, lockfile.Hash(contents.H1Unpacked))
	}
	return hashes, nil
}
