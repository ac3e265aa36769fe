package publish

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
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
	group.SetLimit(p.concurrency())
	for i, pkg := range release.Packages {
		if !slices.Contains(plan.send, pkg.Platform) {
			continue
		}
		if done, before := known[keyOf(pkg)]; before {
			release.Packages[i] = done.complete(pkg)
			continue
		}
		group.Go(func() error {
			done, err := p.sendZip(groupCtx, pkg, plan.h1[pkg.Digest])
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

// sendZip brings one zip into the repository, if it is not there. storedH1 is
// what the tag says of its h1, which is worth as much as what a source says: it
// saves reading a zip that is there.
func (p publisher) sendZip(ctx context.Context, pkg provider.Package, storedH1 string) (sentZip, error) {
	size, there, err := p.present(ctx, pkg)
	if err != nil {
		return sentZip{}, err
	}
	if there {
		pkg.Size = size
	}
	if p.options.SBOM != nil && !hasSBOM(pkg) {
		return p.sendInspected(ctx, pkg, there)
	}
	if there {
		h1, err := p.storedH1(ctx, pkg, storedH1)
		return sentZip{size: size, h1: h1}, err
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

// openLocal opens a zip that the repository has as a file.
func (p publisher) openLocal(pkg provider.Package) (*os.File, error) {
	path, err := p.repo.Traits().BlobPath(pkg.Digest)
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// transfer is the unit of retry: it opens the zip at the source and pushes it.
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
			size, h1, err = p.pushZip(ctx, pkg, content)
			return err
		})
	})
	return size, h1, err
}

// pushZip pushes content by the cheapest way that still gives the h1: straight
// from source to registry when the source states it, into the layout's own file
// when the repository is local, else with a copy in one temporary file.
func (p publisher) pushZip(ctx context.Context, pkg provider.Package, content io.Reader) (size int64, h1 string, err error) {
	isLocal := p.repo.Traits().BlobPath != nil
	wantsH1 := pkg.H1 == "" && !p.options.NoH1
	if pkg.Size >= 0 && (isLocal || !wantsH1) {
		if err := p.repo.PushBlob(ctx, artifact.ZipDescriptor(pkg), content); err != nil {
			return 0, "", err
		}
		if !isLocal || p.options.NoH1 {
			return pkg.Size, pkg.H1, nil
		}
		h1, err := p.localH1(ctx, pkg)
		return pkg.Size, h1, err
	}
	spool, err := newSpool(p.options.TempDir)
	if err != nil {
		return 0, "", err
	}
	defer spool.Close()
	if pkg.Size >= 0 {
		err = p.repo.PushBlob(ctx, artifact.ZipDescriptor(pkg), io.TeeReader(content, spool))
	} else if pkg.Size, err = io.Copy(spool, content); err == nil {
		// A registry wants to know the length beforehand.
		err = p.repo.PushBlob(ctx, artifact.ZipDescriptor(pkg), spool.Reader())
	}
	if err != nil || p.options.NoH1 {
		return pkg.Size, pkg.H1, err
	}
	h1, err = sums.VerifyH1Zip(ctx, spool, pkg.Size, pkg.Filename, pkg.H1)
	return pkg.Size, h1, err
}
