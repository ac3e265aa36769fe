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

// sendZips brings the zips of a plan into the repository, several at once, and
// gives the release with the sizes, h1 hashes and SBOMs that were not known. What
// earlier rounds did is not done again.
func (q *question) sendZips(ctx context.Context, f *facts, p Plan) (provider.Release, error) {
	release := p.release
	release.Packages = slices.Clone(release.Packages)
	sent := maps.Clone(f.sent)
	if sent == nil {
		sent = map[zipKey]PackageResult{}
	}
	var mu sync.Mutex
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(q.concurrency())
	for i, pkg := range release.Packages {
		if !slices.Contains(p.Send, pkg.Platform) {
			continue
		}
		if done, before := f.sent[keyOf(pkg)]; before {
			release.Packages[i] = completed(pkg, done.Package)
			continue
		}
		group.Go(func() error {
			done, err := q.sendZip(groupCtx, pkg, p.zips[pkg.Digest])
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			sent[keyOf(pkg)] = done
			release.Packages[i] = completed(pkg, done.Package)
			return nil
		})
	}
	err := group.Wait()
	f.sent = sent
	return release, err
}

// completed returns the package with what became known of it when it was sent.
func completed(pkg, sent provider.Package) provider.Package {
	pkg.Size, pkg.H1 = sent.Size, sent.H1
	if !hasSBOM(pkg) {
		pkg.Documents = slices.Concat(pkg.Documents, slices.DeleteFunc(slices.Clone(sent.Documents), func(d provider.Document) bool { return d.Kind != provider.KindSBOM }))
	}
	return pkg
}

// sendZip brings one zip into the repository, if it is not there, and learns what is not
// known of it. The h1 that the tag states saves reading a zip that is there.
func (q *question) sendZip(ctx context.Context, pkg provider.Package, stored storedZip) (done PackageResult, err error) {
	there := false
	if !stored.missing {
		if there, err = q.isStored(ctx, &pkg); err != nil {
			return done, err
		}
	}
	makesSBOM := q.options.SBOM != nil && !hasSBOM(pkg)
	if h1, known := q.storedH1(pkg, stored.h1); there && known && !makesSBOM {
		pkg.H1 = h1
		return PackageResult{Package: pkg}, nil
	}
	slot, err := q.startSlot(ctx, pkg.Size)
	if err != nil {
		return done, err
	}
	defer slot.Release()
	done = PackageResult{Package: pkg, Sent: !there}
	send := func() (int64, error) {
		switch {
		case makesSBOM:
			done.Package, err = q.sendWithSBOM(ctx, slot, pkg, there)
		case there:
			pkg.H1 = cmp.Or(pkg.H1, stored.h1)
			done.Package.H1, err = q.readH1(ctx, slot, pkg)
		default:
			err = q.retrier(slot).Do(ctx, "sending "+pkg.Filename, func() error {
				done.Package, err = q.transferZip(ctx, slot, pkg)
				return err
			})
		}
		return done.Package.Size, err
	}
	if stored.missing {
		err = repository.Replace(ctx, q.repo, pkg.Digest, send)
	} else {
		_, err = send()
	}
	return done, err
}

// isStored reports whether the repository has a zip, and notes its size.
func (q *question) isStored(ctx context.Context, pkg *provider.Package) (bool, error) {
	size, err := q.repo.Stat(ctx, pkg.Digest)
	if errors.Is(err, repository.ErrNotFound) || errors.Is(err, repository.ErrNoRepository) {
		return false, nil
	}
	if err != nil || pkg.Size >= 0 && pkg.Size != size {
		return false, err
	}
	pkg.Size = size
	return true, nil
}

// transferZip is one try: it opens the zip at the source and pushes it, and the h1 comes
// out of the same pass.
func (q *question) transferZip(ctx context.Context, slot *transfer.Slot, pkg provider.Package) (provider.Package, error) {
	body, size, err := q.src.Open(ctx, pkg)
	if err != nil {
		return pkg, err
	}
	defer func() { _ = body.Close() }()
	if pkg.Size < 0 {
		pkg.Size = size
	}
	content := transfer.Begin(q.Progress, pkg, pkg.Size, body)
	if pkg.Size < 0 {
		err = q.pushSpooled(ctx, &pkg, content)
	} else {
		pkg.H1, err = q.pushHashed(ctx, slot, pkg, content)
	}
	return pkg, content.End(err)
}

// pushSpooled keeps a zip of unknown length in a temporary file first: a registry
// wants to know the length beforehand.
func (q *question) pushSpooled(ctx context.Context, pkg *provider.Package, content io.Reader) error {
	spool, err := atomicfile.NewScratchFile(q.TempDir, -1)
	if err != nil {
		return err
	}
	defer func() { _ = spool.Close() }()
	if pkg.Size, err = io.Copy(spool, content); err != nil {
		return err
	}
	err = q.repo.PushBlob(ctx, artifact.ZipDescriptor(*pkg), spool.Reader())
	if err == nil && !q.options.NoH1 {
		pkg.H1, err = q.fileH1(ctx, *pkg, spool)
	}
	return err
}

func (q *question) retrier(slot *transfer.Slot) transfer.Retrier {
	return transfer.Retrier{Backoff: q.Backoff, Progress: q.Progress, Slot: slot}
}
