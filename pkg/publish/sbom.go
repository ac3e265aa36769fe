package publish

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// hasSBOM tells whether there is an SBOM of the package already.
func hasSBOM(pkg provider.Package) bool {
	return slices.ContainsFunc(pkg.Documents, func(d provider.Document) bool { return d.Kind == provider.KindSBOM })
}

// sendInspected brings a zip into the repository by way of a local file, on
// which the SBOM is made; there tells that the repository has it.
func (p publisher) sendInspected(ctx context.Context, pkg provider.Package, there bool) (sentZip, error) {
	dir, err := atomicfile.NewScratchDir(p.options.TempDir)
	if err != nil {
		return sentZip{}, fmt.Errorf("keeping %s in a temporary directory: %w", pkg.Filename, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path, err := p.stage(ctx, &pkg, there, dir)
	if err != nil {
		return sentZip{}, err
	}
	zip, err := os.Open(path)
	if err != nil {
		return sentZip{}, err
	}
	defer func() { _ = zip.Close() }()
	if !p.options.NoH1 {
		if pkg.H1, err = p.fileH1(ctx, pkg, zip); err != nil {
			return sentZip{}, err
		}
	}
	sbom, err := p.options.SBOM(ctx, pkg, path)
	if err != nil {
		return sentZip{}, fmt.Errorf("making the SBOM of %s: %w", pkg.Filename, err)
	}
	done := sentZip{size: pkg.Size, h1: pkg.H1, sbom: []provider.Document{sbom}, sent: !there}
	if there {
		return done, nil
	}
	progress := p.options.Progress
	if filepath.Dir(path) == dir {
		progress.Begin, progress.Advance, progress.End = nil, nil, nil // fetching it was reported
	}
	return done, p.retrier().Do(ctx, "sending "+pkg.Filename, func() error {
		return transfer.Report(progress, pkg, pkg.Size, func(count func(io.Reader) io.Reader) error {
			verified := sums.NewReader(io.NewSectionReader(zip, 0, pkg.Size), pkg.Filename, pkg.Size, pkg.Digest)
			return transfer.Recorded(count(verified), func(content io.Reader) error {
				return p.repo.PushBlob(ctx, artifact.ZipDescriptor(pkg), content)
			})
		})
	})
}

// stage gives a local file of the zip: the source's own, or a copy in dir from
// the repository if it has the zip, else from the source.
func (p publisher) stage(ctx context.Context, pkg *provider.Package, there bool, dir string) (path string, err error) {
	if path, ok := p.sourcePath(*pkg); ok {
		return path, nil
	}
	path = filepath.Join(dir, pkg.Filename)
	return path, p.retrier().Do(ctx, "fetching "+pkg.Filename, func() error {
		body, size, err := p.openZip(ctx, *pkg, there)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		pkg.Size = max(pkg.Size, size)
		if err := atomicfile.CheckRoom(dir, pkg.Size); err != nil {
			return fmt.Errorf("keeping %s in a temporary directory: %w", pkg.Filename, err)
		}
		return transfer.Report(p.options.Progress, *pkg, size, func(count func(io.Reader) io.Reader) error {
			return atomicfile.Write(path, 0o600, func(w io.Writer) error {
				n, err := io.Copy(w, count(body))
				pkg.Size = n
				return err
			})
		})
	})
}

func (p publisher) openZip(ctx context.Context, pkg provider.Package, there bool) (io.ReadCloser, int64, error) {
	if !there {
		return p.src.Open(ctx, pkg)
	}
	body, err := repository.Verified(ctx, p.repo, artifact.ZipDescriptor(pkg), pkg.Filename)
	return body, pkg.Size, err
}
