package lock

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
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
	// Judge says what the signature of the release proves, before anything is
	// locked; its error ends the work. nil judges nothing; the methods of
	// trust.Policy are such functions.
	Judge func(context.Context, provider.Release) (provider.Verdict, error)
	// TempDir is where zips are kept that can't be read as they pass; empty is the
	// system's place.
	TempDir string
}

// Hashes gives what a lock file says of a version: the zh of every line of its
// SHA256SUMS, as OpenTofu locks a signed release, and the h1 of every platform.
// The sums have been held against the digests of the packages.
func Hashes(ctx context.Context, src provider.Source, a provider.Address, v provider.Version, o Options) ([]lockfile.Hash, error) {
	hashes, err := hashesOf(ctx, src, a, v, o)
	if err != nil {
		return nil, fmt.Errorf("locking %s %s: %w", a, v, err)
	}
	return hashes, nil
}

func hashesOf(ctx context.Context, src provider.Source, a provider.Address, v provider.Version, o Options) ([]lockfile.Hash, error) {
	// 1. What there is, and what proves it.
	release, err := src.Release(ctx, a, v)
	if err != nil {
		return nil, err
	}
	if o.Judge != nil {
		if _, err := o.Judge(ctx, release); err != nil {
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
	return append(hashes, contents...), err
}

// zipHashes gives the zh hashes.
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

// listedHashes gives the hash of every line, whatever file it is about; none when a
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

// contentHashes gives the h1 hashes.
func contentHashes(ctx context.Context, src provider.Source, r provider.Release, o Options) ([]lockfile.Hash, error) {
	packages := slices.Clone(r.Packages)
	if len(o.Platforms) > 0 {
		if _, err := provider.ChoosePlatforms(r.Address, r.Version, r.Platforms(), o.Platforms); err != nil {
			return nil, err
		}
		packages = slices.DeleteFunc(packages, func(p provider.Package) bool { return !slices.Contains(o.Platforms, p.Platform) })
	}
	hashes := make([][]lockfile.Hash, len(packages))
	err := eachPackage(ctx, packages, func(ctx context.Context, i int, p provider.Package) (err error) {
		if p.H1 != "" && (!o.ComputeH1 || p.Digest == "") {
			hashes[i] = []lockfile.Hash{lockfile.Hash(p.H1)}
			return nil
		}
		hashes[i], err = readHashes(ctx, src, p, o.TempDir)
		return err
	})
	return slices.Concat(hashes...), err
}

// readHashes reads a zip, and gives its h1 and, where that is another one, the h1
// of the directory that it unpacks to. What is stated of it has to be true.
func readHashes(ctx context.Context, src provider.Source, p provider.Package, tempDir string) ([]lockfile.Hash, error) {
	contents, err := packagezip.HashAny(ctx, func(ctx context.Context) (io.ReadCloser, error) {
		body, _, err := src.Open(ctx, p)
		return body, err
	}, p.Size, tempDir)
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
