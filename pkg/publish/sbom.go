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

// hasSBOM reports whether there is an SBOM of the package already.
func hasSBOM(pkg provider.Package) bool {
	return slices.ContainsFunc(pkg.Documents, func(d provider.Document) bool { return d.Kind == provider.KindSBOM })
}

// sendWithSBOM brings a zip into the repository by way of a local file, on
// which the SBOM is made; there tells that the repository has it.
func (q *question) sendWithSBOM(ctx context.Context, slot *transfer.Slot, pkg provider.Package, there bool) (provider.Package, error) {
	dir, err := atomicfile.NewScratchDir(q.TempDir)
	if err != nil {
		return pkg, fmt.Errorf("keeping %s in a temporary directory: %w", pkg.Filename, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path, err := q.localFile(ctx, slot, &pkg, there, dir)
	if err != nil {
		return pkg, err
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
	if there {
		return pkg, nil
	}
	progress := q.Progress
	if filepath.Dir(path) == dir {
		progress.Begin, progress.Advance, progress.End = nil, nil, nil // fetching it was reported
	}
	return pkg, q.retrier(slot).Do(ctx, "sending "+pkg.Filename, func() error {
		verified := sums.NewReader(io.NewSectionReader(zip, 0, pkg.Size), pkg.Filename, pkg.Size, pkg.Digest)
		content := transfer.Begin(progress, pkg, pkg.Size, verified)
		return content.End(q.repo.PushBlob(ctx, artifact.ZipDescriptor(pkg), content))
	})
}

// localFile returns a local file of the zip: the source's own, or a copy in dir from
// the repository if it has the zip, else from the source.
func (q *question) localFile(ctx context.Context, slot *transfer.Slot, pkg *provider.Package, there bool, dir string) (path string, err error) {
	if path, ok := q.sourcePath(*pkg); ok {
		return path, nil
	}
	path = filepath.Join(dir, pkg.Filename)
	return path, q.retrier(slot).Do(ctx, "fetching "+pkg.Filename, func() error {
		body, size, err := q.openZip(ctx, *pkg, there)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		pkg.Size = max(pkg.Size, size)
		if err := atomicfile.CheckRoom(dir, pkg.Size); err != nil {
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

func (q *question) openZip(ctx context.Context, pkg provider.Package, there bool) (io.ReadCloser, int64, error) {
	if !there {
		return q.src.Open(ctx, pkg)
	}
	body, err := repository.Verified(ctx, q.repo, artifact.ZipDescriptor(pkg), pkg.Filename)
	return body, pkg.Size, err
}
