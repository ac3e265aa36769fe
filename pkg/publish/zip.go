package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/ctxio"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// localRepository is a repository whose blobs are local files: a zip that was
// pushed there is at hand and need not be kept a second time.
type localRepository interface {
	BlobPath(d digest.Digest) (string, error)
}

// sendZip brings one zip into the repository, if it is not there, and completes
// what is known of it. sent tells whether bytes moved.
func (p *publisher) sendZip(ctx context.Context, pkg provider.Package) (done provider.Package, sent bool, err error) {
	if p.options.SBOM != nil && !hasSBOM(pkg) {
		sbom, made := p.sboms.of(pkg)
		if !made {
			return p.sendInspected(ctx, pkg)
		}
		pkg.Attachments = append(slices.Clip(pkg.Attachments), sbom)
	}
	size, err := p.repo.Stat(ctx, pkg.Digest)
	if err == nil && (pkg.Size < 0 || pkg.Size == size) && p.intact(ctx, pkg, size) {
		pkg.Size = size
		done, err = p.storedH1(ctx, pkg)
		return done, false, err
	}
	if err != nil && !errors.Is(err, artifact.ErrNotFound) && !errors.Is(err, artifact.ErrNoRepository) {
		return pkg, false, err
	}
	err = p.retrier().Do(ctx, "sending "+pkg.Filename, func() error {
		done, err = p.transfer(ctx, pkg)
		return err
	})
	return done, true, err
}

// intact tells whether a zip that is there has the right bytes. A registry has
// checked what it took; a local file may have been damaged since, and is read.
func (p *publisher) intact(ctx context.Context, pkg provider.Package, size int64) bool {
	local, isLocal := p.repo.(localRepository)
	if !isLocal {
		return true
	}
	path, err := local.BlobPath(pkg.Digest)
	if err != nil {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	_, err = io.Copy(io.Discard, sums.NewReader(ctxio.Reader(ctx, f), pkg.Filename, size, pkg.Digest))
	return err == nil
}

func (p *publisher) retrier() transfer.Retrier {
	return transfer.Retrier{Backoff: p.options.Backoff, Progress: p.options.Progress}
}

// transfer is the unit of retry: it opens the zip at the source and pushes it.
func (p *publisher) transfer(ctx context.Context, pkg provider.Package) (provider.Package, error) {
	body, size, err := p.src.Open(ctx, pkg)
	if err != nil {
		return pkg, err
	}
	defer func() { _ = body.Close() }()
	if pkg.Size < 0 {
		pkg.Size = size
	}
	err = transfer.Report(p.options.Progress, pkg, pkg.Size, func(count func(io.Reader) io.Reader) error {
		return recorded(count(body), func(content io.Reader) error {
			pkg, err = p.pushZip(ctx, pkg, content)
			return err
		})
	})
	return pkg, err
}

// recorded pushes content and tells what really went wrong: the library that
// pushes wraps what the source said, or hides it, and a refusal in mid-way is a
// token that expired.
func recorded(content io.Reader, push func(content io.Reader) error) error {
	read := transfer.NewRecorder(content)
	err := push(read)
	if err := read.Err(); err != nil {
		return err
	}
	if errors.Is(err, provider.ErrDenied) && read.N() > 0 {
		return &transfer.ExpiredError{Err: err}
	}
	return err
}

// pushZip pushes content by the cheapest way that still gives the h1: straight
// from source to registry when the source states it, into the layout's own file
// when the repository is local, else with a copy in one temporary file.
func (p *publisher) pushZip(ctx context.Context, pkg provider.Package, content io.Reader) (provider.Package, error) {
	local, isLocal := p.repo.(localRepository)
	wantsH1 := pkg.H1 == "" && !p.options.NoH1
	if pkg.Size >= 0 && (isLocal || !wantsH1) {
		if err := p.pushBlob(ctx, artifact.ZipDescriptor(pkg), content); err != nil {
			return pkg, err
		}
		if !isLocal || p.options.NoH1 {
			return pkg, nil
		}
		return p.localH1(ctx, pkg, local)
	}
	spool, err := newSpool(p.options.TempDir)
	if err != nil {
		return pkg, err
	}
	defer spool.Close()
	if pkg.Size >= 0 {
		err = p.pushBlob(ctx, artifact.ZipDescriptor(pkg), io.TeeReader(content, spool))
	} else if pkg.Size, err = io.Copy(spool, content); err == nil {
		// A registry wants to know the length beforehand.
		err = p.pushBlob(ctx, artifact.ZipDescriptor(pkg), spool.Reader())
	}
	if err != nil || p.options.NoH1 {
		return pkg, err
	}
	return checkH1(ctx, pkg, spool, pkg.Size)
}

// localH1 computes the h1 of a zip in a local repository.
func (p *publisher) localH1(ctx context.Context, pkg provider.Package, local localRepository) (provider.Package, error) {
	path, err := local.BlobPath(pkg.Digest)
	if err != nil {
		return pkg, err
	}
	f, err := os.Open(path)
	if err != nil {
		return pkg, err
	}
	defer func() { _ = f.Close() }()
	return checkH1(ctx, pkg, f, pkg.Size)
}

// storedH1 completes and checks the h1 of a zip that the repository has, and
// reads it back where nothing else tells: an earlier run sent it before it was
// cut off.
func (p *publisher) storedH1(ctx context.Context, pkg provider.Package) (provider.Package, error) {
	local, isLocal := p.repo.(localRepository)
	pkg.H1 = cmp.Or(pkg.H1, p.h1[pkg.Digest])
	switch isKnown := pkg.H1 != "" && p.h1[pkg.Digest] == pkg.H1; {
	case p.options.NoH1 || isKnown || pkg.H1 != "" && !isLocal:
		return pkg, nil
	case isLocal:
		return p.localH1(ctx, pkg, local)
	}
	spool, err := newSpool(p.options.TempDir)
	if err != nil {
		return pkg, err
	}
	defer spool.Close()
	err = p.retrier().Do(ctx, "reading back "+pkg.Filename, func() error {
		body, err := p.repo.Blob(ctx, artifact.ZipDescriptor(pkg))
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		if err := spool.Reset(); err != nil {
			return err
		}
		_, err = io.Copy(spool, sums.NewReader(body, pkg.Filename, pkg.Size, pkg.Digest))
		return err
	})
	if err != nil {
		return pkg, err
	}
	return checkH1(ctx, pkg, spool, pkg.Size)
}

// checkH1 computes a zip's h1. What the source states of it is not signed, so
// it must agree.
func checkH1(ctx context.Context, pkg provider.Package, zip io.ReaderAt, size int64) (provider.Package, error) {
	h1, err := sums.H1Zip(ctx, zip, size)
	if err != nil {
		return pkg, fmt.Errorf("computing the h1 of %s: %w", pkg.Filename, err)
	}
	if pkg.H1 != "" && pkg.H1 != h1 {
		return pkg, &sums.MismatchError{Name: pkg.Filename, Got: h1, Want: pkg.H1}
	}
	pkg.H1 = h1
	return pkg, nil
}
