package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// storedH1 returns the h1 of a zip that the repository has, if it is known or not
// wanted. Else the zip has to be read: an earlier run sent it before it was cut
// off. stored is what the tag says of it.
func (q *question) storedH1(pkg provider.Package, stored string) (h1 string, known bool) {
	isLocal := q.repo.Traits().BlobPath != nil
	h1 = cmp.Or(pkg.H1, stored)
	return h1, q.options.NoH1 || h1 != "" && (stored == h1 || !isLocal)
}

// pushHashed pushes a zip and gives the h1 of what went by. What the source states of
// the h1 is not signed: where it costs no transfer of its own, it is compared. The last
// byte of a zip that is none, or has another h1, is not passed on. A zip that can't be
// hashed as it passes is read again when it is pushed.
func (q *question) pushHashed(ctx context.Context, slot *transfer.Slot, pkg provider.Package, content io.Reader) (h1 string, err error) {
	if q.options.NoH1 || pkg.H1 != "" && q.repo.Traits().BlobPath == nil {
		return pkg.H1, q.repo.PushBlob(ctx, artifact.ZipDescriptor(pkg), content)
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
	err = q.repo.PushBlob(ctx, artifact.ZipDescriptor(pkg), g)
	switch shut := g.verdict(); {
	case shut != nil: // which the push may have hidden behind an error of its own
		return "", shut
	case err != nil:
		return "", err
	case again:
		return q.readH1(ctx, slot, pkg)
	}
	return h1, nil
}

// readH1 computes the h1 of a zip from what is nearest: a file of the source or of
// the repository, else the repository's blob. That is read as it comes, and kept
// in a temporary file only if it has to be.
func (q *question) readH1(ctx context.Context, slot *transfer.Slot, pkg provider.Package) (string, error) {
	if path, ok := q.sourcePath(pkg); ok {
		return q.pathH1(ctx, pkg, path)
	}
	if at := q.repo.Traits().BlobPath; at != nil {
		if path, err := at(pkg.Digest); err == nil {
			return q.pathH1(ctx, pkg, path)
		}
	}
	open := func(ctx context.Context) (io.ReadCloser, error) {
		return repository.Verified(ctx, q.repo, artifact.ZipDescriptor(pkg), pkg.Filename)
	}
	var contents packagezip.Contents
	err := q.retrier(slot).Do(ctx, "reading back "+pkg.Filename, func() (err error) {
		contents, err = packagezip.HashAny(ctx, open, pkg.Size, q.TempDir)
		return err
	})
	return q.checkH1(pkg, contents, err)
}

// sourcePath returns the source's local file of the zip.
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

// fileH1 computes the h1 of a zip that can be read in any order.
func (q *question) fileH1(ctx context.Context, pkg provider.Package, zip io.ReaderAt) (string, error) {
	archive, err := packagezip.Open(zip, pkg.Size)
	if err != nil {
		return q.checkH1(pkg, packagezip.Contents{}, err)
	}
	contents, err := archive.Contents(ctx)
	return q.checkH1(pkg, contents, err)
}

// checkH1 holds what was computed against what is stated.
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
