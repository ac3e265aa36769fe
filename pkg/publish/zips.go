package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// zipKey identifies a package: two platforms can have equal zips with different SBOMs.
type zipKey struct {
	platform provider.Platform
	digest   digest.Digest
}

func keyOf(pkg provider.Package) zipKey { return zipKey{pkg.Platform, pkg.Digest} }

// sendZips sends the zips of a plan concurrently, and returns the release with the sizes, h1
// hashes, and SBOMs that were unknown before. Zips that earlier rounds sent are not sent again.
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

// completed returns the package with the size, h1, and SBOM that were determined when it was
// sent.
func completed(pkg, sent provider.Package) provider.Package {
	pkg.Size, pkg.H1 = sent.Size, sent.H1
	if !hasSBOM(pkg) {
		pkg.Documents = slices.Concat(pkg.Documents, slices.DeleteFunc(slices.Clone(sent.Documents), func(d provider.Document) bool { return d.Kind != provider.KindSBOM }))
	}
	return pkg
}

// hasSBOM reports whether the package already has an SBOM.
func hasSBOM(pkg provider.Package) bool {
	return slices.ContainsFunc(pkg.Documents, func(d provider.Document) bool { return d.Kind == provider.KindSBOM })
}

// sendZip sends one zip unless the repository has it, and completes the package. A stored zip
// is read if its h1 is wanted and neither the source nor the tag states it: then an
// interrupted run sent it.
func (q *question) sendZip(ctx context.Context, pkg provider.Package, stored storedZip) (done PackageResult, err error) {
	isStored := false
	if !stored.missing {
		if isStored, err = q.isStored(ctx, &pkg); err != nil {
			return done, err
		}
	}
	makesSBOM := q.options.SBOM != nil && !hasSBOM(pkg)
	h1, isLocal := cmp.Or(pkg.H1, stored.h1), q.repo.Traits().BlobPath != nil
	if isStored && !makesSBOM && (q.options.NoH1 || h1 != "" && (stored.h1 == h1 || !isLocal)) {
		pkg.H1 = h1
		return PackageResult{Package: pkg}, nil
	}
	slot, err := transfer.NewSlot(ctx, q.transfers(), pkg.Size)
	if err != nil {
		return done, err
	}
	defer slot.Release()
	retrier := transfer.Retrier{Backoff: q.Backoff, Progress: q.Progress, Slot: slot}
	done = PackageResult{Package: pkg, Sent: !isStored}
	send := func() (int64, error) {
		switch {
		case makesSBOM:
			done.Package, err = q.sendWithSBOM(ctx, retrier, pkg, isStored)
		case isStored:
			pkg.H1 = h1
			done.Package.H1, err = q.readH1(ctx, retrier, pkg)
		default:
			done.Package, err = q.transferZip(ctx, retrier, pkg, q.Progress, q.src.Open)
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

// isStored reports whether the repository has a zip, and sets its size.
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

// openStored opens a zip of the repository.
func (q *question) openStored(ctx context.Context, pkg provider.Package) (io.ReadCloser, int64, error) {
	body, err := repository.Verified(ctx, q.repo, artifact.ZipDescriptor(pkg), pkg.Filename)
	return body, pkg.Size, err
}

// opener opens a zip and returns its size, or -1.
type opener func(ctx context.Context, pkg provider.Package) (io.ReadCloser, int64, error)

// sendWithSBOM sends a zip from a local file, for which it generates the SBOM.
func (q *question) sendWithSBOM(ctx context.Context, retrier transfer.Retrier, pkg provider.Package, isStored bool) (provider.Package, error) {
	dir, err := atomicfile.NewScratchDir(q.TempDir)
	if err != nil {
		return pkg, fmt.Errorf("keeping %s in a temporary directory: %w", pkg.Filename, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path, isLocal := q.sourcePath(pkg)
	progress := q.Progress
	if !isLocal {
		path = filepath.Join(dir, pkg.Filename)
		if err := q.fetch(ctx, retrier, &pkg, isStored, path); err != nil {
			return pkg, err
		}
		progress.Begin, progress.Advance, progress.End = nil, nil, nil // fetching was reported
	}
	zip, err := os.Open(path)
	if err != nil {
		return pkg, err
	}
	defer func() { _ = zip.Close() }()
	if !q.options.NoH1 {
		if pkg.H1, err = q.fileH1(ctx, pkg, zip); err != nil {
			return pkg, err
		}
	}
	sbom, err := q.options.SBOM(ctx, pkg, path)
	if err != nil {
		return pkg, fmt.Errorf("making the SBOM of %s: %w", pkg.Filename, err)
	}
	pkg.Documents = append(slices.Clip(pkg.Documents), sbom)
	if isStored {
		return pkg, nil
	}
	return q.transferZip(ctx, retrier, pkg, progress, func(context.Context, provider.Package) (io.ReadCloser, int64, error) {
		return io.NopCloser(sums.NewReader(io.NewSectionReader(zip, 0, pkg.Size), pkg.Filename, pkg.Size, pkg.Digest)), pkg.Size, nil
	})
}

// fetch writes a zip to a file: from the repository if it has the zip, otherwise from the
// source.
func (q *question) fetch(ctx context.Context, retrier transfer.Retrier, pkg *provider.Package, isStored bool, path string) error {
	open := q.src.Open
	if isStored {
		open = q.openStored
	}
	return retrier.Do(ctx, "fetching "+pkg.Filename, func() error {
		body, size, err := open(ctx, *pkg)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		pkg.Size = max(pkg.Size, size)
		if err := atomicfile.CheckRoom(filepath.Dir(path), pkg.Size); err != nil {
			return fmt.Errorf("keeping %s in a temporary directory: %w", pkg.Filename, err)
		}
		content := transfer.Begin(q.Progress, *pkg, size, body)
		return content.End(atomicfile.Write(path, 0o600, func(w io.Writer) error {
			n, err := io.Copy(w, content)
			pkg.Size = n
			return err
		}))
	})
}

// transferZip opens a zip and pushes it. The h1 hash is computed in the same pass.
func (q *question) transferZip(ctx context.Context, retrier transfer.Retrier, pkg provider.Package, progress provider.Progress, open opener) (sent provider.Package, err error) {
	err = retrier.Do(ctx, "sending "+pkg.Filename, func() error {
		sent = pkg
		body, size, err := open(ctx, pkg)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		if sent.Size < 0 {
			sent.Size = size
		}
		content := transfer.Begin(progress, sent, sent.Size, body)
		if sent.Size < 0 {
			err = q.pushSpooled(ctx, &sent, content)
		} else {
			sent.H1, err = q.pushHashed(ctx, retrier, sent, content)
		}
		return content.End(err)
	})
	return sent, err
}

// push pushes the content of a zip.
func (q *question) push(ctx context.Context, pkg provider.Package, content io.Reader) error {
	return q.repo.PushBlob(ctx, artifact.ZipDescriptor(pkg), content)
}

// pushSpooled writes a zip of unknown size to a temporary file before it pushes the zip,
// because registries need to know the size beforehand.
func (q *question) pushSpooled(ctx context.Context, pkg *provider.Package, content io.Reader) error {
	spool, err := atomicfile.NewScratchFile(q.TempDir, -1)
	if err != nil {
		return err
	}
	defer func() { _ = spool.Close() }()
	if pkg.Size, err = io.Copy(spool, content); err != nil {
		return err
	}
	err = q.push(ctx, *pkg, spool.Reader())
	if err == nil && !q.options.NoH1 {
		pkg.H1, err = q.fileH1(ctx, *pkg, spool)
	}
	return err
}

// pushHashed pushes a zip and returns its h1 hash. The h1 that the source states is not
// signed, so it is verified where that needs no additional transfer. The last byte of an
// invalid zip, or of a zip with another h1, is withheld. A zip that can't be hashed as a
// stream is read again after the push.
func (q *question) pushHashed(ctx context.Context, retrier transfer.Retrier, pkg provider.Package, content io.Reader) (h1 string, err error) {
	if q.options.NoH1 || pkg.H1 != "" && q.repo.Traits().BlobPath == nil {
		return pkg.H1, q.push(ctx, pkg, content)
	}
	w := packagezip.NewHashWriter(ctx)
	defer func() { _ = w.Close() }()
	again := false
	g := &gate{src: io.TeeReader(content, w), open: func() error {
		contents, err := w.Contents()
		_, again = errors.AsType[*packagezip.NotStreamableError](err)
		switch path, isFile := q.sourcePath(pkg); {
		case again && isFile:
			again = false
			h1, err = q.pathH1(ctx, pkg, path)
		case again:
			err = nil
		default:
			h1, err = q.checkH1(pkg, contents, err)
		}
		return err
	}}
	err = q.push(ctx, pkg, g)
	switch shut := g.verdict(); {
	case shut != nil: // which the push may have hidden behind its own error
		return "", shut
	case err != nil:
		return "", err
	case again:
		return q.readH1(ctx, retrier, pkg)
	}
	return h1, nil
}

// readH1 computes the h1 of a stored zip, from a file of the source or the repository if
// there is one. Otherwise it reads the repository's blob as a stream, and uses a temporary
// file only if it must.
func (q *question) readH1(ctx context.Context, retrier transfer.Retrier, pkg provider.Package) (string, error) {
	if path, ok := q.sourcePath(pkg); ok {
		return q.pathH1(ctx, pkg, path)
	}
	if at := q.repo.Traits().BlobPath; at != nil {
		if path, err := at(pkg.Digest); err == nil {
			return q.pathH1(ctx, pkg, path)
		}
	}
	var contents packagezip.Contents
	err := retrier.Do(ctx, "reading back "+pkg.Filename, func() (err error) {
		contents, err = packagezip.HashAny(ctx, func(ctx context.Context) (io.ReadCloser, error) {
			body, _, err := q.openStored(ctx, pkg)
			return body, err
		}, pkg.Size, q.TempDir)
		return err
	})
	return q.checkH1(pkg, contents, err)
}

// sourcePath returns the path of the source's local file of the zip.
func (q *question) sourcePath(pkg provider.Package) (string, bool) {
	if q.can.Path == nil {
		return "", false
	}
	return q.can.Path(pkg)
}

func (q *question) pathH1(ctx context.Context, pkg provider.Package, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	return q.fileH1(ctx, pkg, f)
}

// fileH1 computes the h1 of a zip with random access.
func (q *question) fileH1(ctx context.Context, pkg provider.Package, zip io.ReaderAt) (string, error) {
	var contents packagezip.Contents
	archive, err := packagezip.Open(zip, pkg.Size)
	if err == nil {
		contents, err = archive.Contents(ctx)
	}
	return q.checkH1(pkg, contents, err)
}

// checkH1 verifies a computed h1 against the stated one.
func (q *question) checkH1(pkg provider.Package, contents packagezip.Contents, err error) (string, error) {
	if err != nil {
		name := pkg.Filename
		if path, ok := q.sourcePath(pkg); ok {
			name = path
		}
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	return contents.H1, contents.VerifyH1(pkg.Filename, pkg.H1)
}
