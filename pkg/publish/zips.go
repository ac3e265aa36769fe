package publish

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// zipKey tells zips apart: two platforms may have equal ones, with an SBOM each.
type zipKey struct {
	platform provider.Platform
	digest   digest.Digest
}

func keyOf(pkg provider.Package) zipKey { return zipKey{pkg.Platform, pkg.Digest} }

// sentZip is a zip that the repository has for certain.
type sentZip struct {
	// size, h1 and sbom complete the package; sbom is nil when none was made.
	size int64
	h1   string
	sbom []provider.Document
	// sent tells whether bytes moved; else the repository had it.
	sent bool
}

// sendZips brings the zips of a plan into the repository, several at once, and
// gives the release with the sizes, h1 hashes and SBOMs that were not known. What
// earlier rounds did is not done again.
func (p publisher) sendZips(ctx context.Context, plan plan, known map[zipKey]sentZip) (provider.Release, map[zipKey]sentZip, error) {
	release := plan.release
	release.Packages = slices.Clone(release.Packages)
	zips := maps.Clone(known)
	if zips == nil {
		zips = map[zipKey]sentZip{}
	}
	var mu sync.Mutex
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(p.options.concurrency())
	for i, pkg := range release.Packages {
		if !slices.Contains(plan.send, pkg.Platform) {
			continue
		}
		if done, before := known[keyOf(pkg)]; before {
			release.Packages[i] = done.complete(pkg)
			continue
		}
		group.Go(func() error {
			done, err := p.sendZip(groupCtx, pkg, plan.stored[pkg.Digest])
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			zips[keyOf(pkg)] = done
			release.Packages[i] = done.complete(pkg)
			return nil
		})
	}
	return release, zips, group.Wait()
}

// complete gives the package with what became known of it.
func (z sentZip) complete(pkg provider.Package) provider.Package {
	pkg.Size, pkg.H1 = z.size, z.h1
	pkg.Documents = slices.Concat(pkg.Documents, z.sbom)
	return pkg
}

// sendZip brings one zip into the repository, if it is not there. The h1 that the
// tag states saves reading a zip that is.
func (p publisher) sendZip(ctx context.Context, pkg provider.Package, stored storedZip) (sentZip, error) {
	if stored.missing {
		var done sentZip
		err := repository.Replace(ctx, p.repo, pkg.Digest, func() (_ int64, err error) {
			done, err = p.bringZip(ctx, pkg, stored, false)
			return done.size, err
		})
		return done, err
	}
	size, there, err := p.present(ctx, pkg)
	if err != nil {
		return sentZip{}, err
	}
	if there {
		pkg.Size = size
	}
	return p.bringZip(ctx, pkg, stored, there)
}

// bringZip sends a zip that is not there, and learns what is not known of one that is,
// whose size is known.
func (p publisher) bringZip(ctx context.Context, pkg provider.Package, stored storedZip, there bool) (_ sentZip, err error) {
	inspect := p.options.SBOM != nil && !hasSBOM(pkg)
	if h1, known := p.storedH1(pkg, stored.h1); there && known && !inspect {
		return sentZip{size: pkg.Size, h1: h1}, nil
	}
	if p.slot, err = transfer.NewSlot(ctx, p.options.Acquire, pkg.Size); err != nil {
		return sentZip{}, err
	}
	defer p.slot.Release()
	switch {
	case inspect:
		return p.sendInspected(ctx, pkg, there)
	case there:
		pkg.H1 = cmp.Or(pkg.H1, stored.h1)
		h1, err := p.readH1(ctx, pkg)
		return sentZip{size: pkg.Size, h1: h1}, err
	}
	done := sentZip{sent: true}
	err = p.retrier().Do(ctx, "sending "+pkg.Filename, func() error {
		done.size, done.h1, err = p.transfer(ctx, pkg)
		return err
	})
	return done, err
}

// present tells whether the repository has a zip, and its size in bytes.
func (p publisher) present(ctx context.Context, pkg provider.Package) (size int64, there bool, err error) {
	size, err = p.repo.Stat(ctx, pkg.Digest)
	if errors.Is(err, repository.ErrNotFound) || errors.Is(err, repository.ErrNoRepository) {
		return 0, false, nil
	}
	return size, err == nil && (pkg.Size < 0 || pkg.Size == size), err
}

// transfer is the unit of retry: it opens the zip at the source and pushes it,
// and the h1 comes out of the same pass.
func (p publisher) transfer(ctx context.Context, pkg provider.Package) (size int64, h1 string, err error) {
	body, size, err := p.src.Open(ctx, pkg)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = body.Close() }()
	if pkg.Size < 0 {
		pkg.Size = size
	}
	err = transfer.Report(p.options.Progress, pkg, pkg.Size, func(count func(io.Reader) io.Reader) error {
		return transfer.Recorded(count(body), func(content io.Reader) error {
			if pkg.Size < 0 {
				size, h1, err = p.pushSpooled(ctx, pkg, content)
				return err
			}
			h1, err = p.hashed(ctx, pkg, content, func(content io.Reader) error {
				return p.repo.PushBlob(ctx, artifact.ZipDescriptor(pkg), content)
			})
			return err
		})
	})
	return max(size, pkg.Size), h1, err
}

// pushSpooled keeps a zip of unknown length in a temporary file first: a registry
// wants to know the length beforehand.
func (p publisher) pushSpooled(ctx context.Context, pkg provider.Package, content io.Reader) (size int64, h1 string, err error) {
	spool, err := atomicfile.NewScratchFile(p.options.TempDir, -1)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = spool.Close() }()
	if pkg.Size, err = io.Copy(spool, content); err != nil {
		return 0, "", err
	}
	err = p.repo.PushBlob(ctx, artifact.ZipDescriptor(pkg), spool.Reader())
	if err != nil || p.options.NoH1 {
		return pkg.Size, pkg.H1, err
	}
	h1, err = p.fileH1(ctx, pkg, spool)
	return pkg.Size, h1, err
}
