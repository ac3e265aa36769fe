package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// hashed passes a zip's content on to send, which has to read it to its end, and
// gives the h1 of what went by. What the source states of the h1 is not signed:
// where it costs no transfer of its own, it is compared. The last byte of a zip
// that is none, or has another h1, is not passed on. A zip that can't be hashed
// as it passes is read again when send has ended.
func (p publisher) hashed(ctx context.Context, pkg provider.Package, content io.Reader, send func(io.Reader) error) (h1 string, err error) {
	if p.options.NoH1 || pkg.H1 != "" && p.repo.Traits().BlobPath == nil {
		return pkg.H1, send(content)
	}
	w := packagezip.NewHashWriter(ctx)
	defer func() { _ = w.Close() }()
	again := false
	g := &gate{src: io.TeeReader(content, w), open: func() error {
		contents, err := w.Contents()
		_, again = errors.AsType[*packagezip.NotStreamableError](err)
		switch path, isFile := p.sourcePath(pkg); {
		case again && isFile:
			again = false
			h1, err = p.pathH1(ctx, pkg, path)
		case again:
			err = nil
		default:
			h1, err = p.checkH1(pkg, contents, err)
		}
		return err
	}}
	err = send(g)
	switch shut := g.verdict(); {
	case shut != nil: // which send may have hidden behind an error of its own
		return "", shut
	case err != nil:
		return "", err
	case again:
		return p.readH1(ctx, pkg)
	}
	return h1, nil
}

// storedH1 gives the h1 of a zip that the repository has, if it is known or not
// wanted. Else the zip has to be read: an earlier run sent it before it was cut
// off. stored is what the tag says of it.
func (p publisher) storedH1(pkg provider.Package, stored string) (h1 string, known bool) {
	isLocal := p.repo.Traits().BlobPath != nil
	h1 = cmp.Or(pkg.H1, stored)
	return h1, p.options.NoH1 || h1 != "" && (stored == h1 || !isLocal)
}

// readH1 computes the h1 of a zip from what is nearest: a file of the source or of
// the repository, else the repository's blob. That is read as it comes, and kept
// in a temporary file only if it has to be.
func (p publisher) readH1(ctx context.Context, pkg provider.Package) (string, error) {
	if path, ok := p.localPath(pkg); ok {
		return p.pathH1(ctx, pkg, path)
	}
	var contents packagezip.Contents
	err := p.readBack(ctx, pkg, func(body io.Reader) (err error) {
		contents, err = packagezip.HashStream(ctx, body)
		return err
	})
	if _, again := errors.AsType[*packagezip.NotStreamableError](err); !again {
		return p.checkH1(pkg, contents, err)
	}
	spool, err := atomicfile.NewScratchFile(p.options.TempDir, pkg.Size)
	if err != nil {
		return "", err
	}
	defer func() { _ = spool.Close() }()
	err = p.readBack(ctx, pkg, func(body io.Reader) error {
		if err := spool.Reset(); err != nil {
			return err
		}
		_, err := io.Copy(spool, body)
		return err
	})
	if err != nil {
		return "", err
	}
	return p.fileH1(ctx, pkg, spool)
}

// readBack reads a zip out of the repository, verified.
func (p publisher) readBack(ctx context.Context, pkg provider.Package, read func(io.Reader) error) error {
	return p.retrier().Do(ctx, "reading back "+pkg.Filename, func() error {
		body, err := repository.Verified(ctx, p.repo, artifact.ZipDescriptor(pkg), pkg.Filename)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		return read(body)
	})
}

// sourcePath gives the source's local file of the zip.
func (p publisher) sourcePath(pkg provider.Package) (string, bool) {
	if p.can.Path == nil {
		return "", false
	}
	return p.can.Path(pkg)
}

// localPath gives a local file of the zip.
func (p publisher) localPath(pkg provider.Package) (string, bool) {
	if path, ok := p.sourcePath(pkg); ok {
		return path, true
	}
	if at := p.repo.Traits().BlobPath; at != nil {
		path, err := at(pkg.Digest)
		return path, err == nil
	}
	return "", false
}

func (p publisher) pathH1(ctx context.Context, pkg provider.Package, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	return p.fileH1(ctx, pkg, f)
}

// fileH1 computes the h1 of a zip that can be read in any order.
func (p publisher) fileH1(ctx context.Context, pkg provider.Package, zip io.ReaderAt) (string, error) {
	archive, err := packagezip.Open(zip, pkg.Size)
	if err != nil {
		return p.checkH1(pkg, packagezip.Contents{}, err)
	}
	contents, err := archive.Contents(ctx)
	return p.checkH1(pkg, contents, err)
}

// checkH1 holds what was computed against what is stated.
func (p publisher) checkH1(pkg provider.Package, contents packagezip.Contents, err error) (string, error) {
	if err != nil {
		name := pkg.Filename
		if path, ok := p.sourcePath(pkg); ok {
			name = path
		}
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	return contents.H1, contents.VerifyH1(pkg.Filename, pkg.H1)
}
