package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// fileSource is a source whose zips are local files.
type fileSource interface {
	Path(p provider.Package) (path string, ok bool)
}

// hasSBOM tells whether the source brings an SBOM of the package.
func hasSBOM(pkg provider.Package) bool {
	return slices.ContainsFunc(pkg.Attachments, func(a provider.Attachment) bool {
		return a.MediaType == artifact.MediaTypeSPDX || a.MediaType == artifact.MediaTypeCycloneDX
	})
}

// sendInspected brings a zip into the repository by way of a local file, on
// which the SBOM is made. sent tells whether the repository lacked it.
func (p *publisher) sendInspected(ctx context.Context, pkg provider.Package) (done provider.Package, sent bool, err error) {
	dir, err := os.MkdirTemp(p.options.TempDir, "tofu-oci-*")
	if err != nil {
		return pkg, false, fmt.Errorf("keeping %s in a temporary directory: %w", pkg.Filename, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path, there, err := p.stage(ctx, &pkg, dir)
	if err != nil {
		return pkg, false, err
	}
	zip, err := os.Open(path)
	if err != nil {
		return pkg, false, err
	}
	defer func() { _ = zip.Close() }()
	if !p.options.NoH1 {
		if pkg, err = checkH1(ctx, pkg, zip, pkg.Size); err != nil {
			return pkg, false, err
		}
	}
	sbom, err := p.options.SBOM(ctx, pkg, path)
	if err != nil {
		return pkg, false, fmt.Errorf("making the SBOM of %s: %w", pkg.Filename, err)
	}
	p.sboms.keep(pkg, sbom)
	pkg.Attachments = append(slices.Clip(pkg.Attachments), sbom)
	if there {
		return pkg, false, nil
	}
	progress := p.options.Progress
	if filepath.Dir(path) == dir {
		progress.Begin, progress.Advance, progress.End = nil, nil, nil // fetching it was reported
	}
	return pkg, true, p.retrier().Do(ctx, "sending "+pkg.Filename, func() error {
		return transfer.Report(progress, pkg, pkg.Size, func(count func(io.Reader) io.Reader) error {
			verified := sums.NewReader(io.NewSectionReader(zip, 0, pkg.Size), pkg.Filename, pkg.Size, pkg.Digest)
			return recorded(count(verified), func(content io.Reader) error {
				return p.pushBlob(ctx, artifact.ZipDescriptor(pkg), content)
			})
		})
	})
}

// madeSBOMs are those that a run made. After a moved tag the packages are sent
// once more, and an SBOM made twice is seldom the same.
type madeSBOMs struct {
	mu   sync.Mutex
	made map[madeFor]provider.Attachment
}

type madeFor struct {
	platform provider.Platform
	zip      digest.Digest
}

func (m *madeSBOMs) of(pkg provider.Package) (sbom provider.Attachment, made bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sbom, made = m.made[madeFor{pkg.Platform, pkg.Digest}]
	return sbom, made
}

func (m *madeSBOMs) keep(pkg provider.Package, sbom provider.Attachment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == nil {
		m.made = map[madeFor]provider.Attachment{}
	}
	m.made[madeFor{pkg.Platform, pkg.Digest}] = sbom
}

// stage gives a local file of the zip: the source's own, or a copy in dir from
// the repository if it has the zip, else from the source.
func (p *publisher) stage(ctx context.Context, pkg *provider.Package, dir string) (path string, there bool, err error) {
	size, err := p.repo.Stat(ctx, pkg.Digest)
	if err != nil && !errors.Is(err, artifact.ErrNotFound) && !errors.Is(err, artifact.ErrNoRepository) {
		return "", false, err
	}
	if there = err == nil && (pkg.Size < 0 || pkg.Size == size); there {
		pkg.Size = size
	}
	if local, ok := p.src.(fileSource); ok {
		if path, ok = local.Path(*pkg); ok {
			return path, there, nil
		}
	}
	path = filepath.Join(dir, pkg.Filename)
	return path, there, p.retrier().Do(ctx, "fetching "+pkg.Filename, func() error {
		body, size, err := p.openZip(ctx, *pkg, there)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		pkg.Size = max(pkg.Size, size)
		return transfer.Report(p.options.Progress, *pkg, size, func(count func(io.Reader) io.Reader) error {
			return atomicfile.Write(path, 0o600, func(w io.Writer) error {
				n, err := io.Copy(w, count(body))
				pkg.Size = n
				return err
			})
		})
	})
}

func (p *publisher) openZip(ctx context.Context, pkg provider.Package, there bool) (io.ReadCloser, int64, error) {
	if !there {
		return p.src.Open(ctx, pkg)
	}
	body, err := p.repo.Blob(ctx, artifact.ZipDescriptor(pkg))
	if err != nil {
		return nil, 0, err
	}
	return struct {
		io.Reader
		io.Closer
	}{sums.NewReader(body, pkg.Filename, pkg.Size, pkg.Digest), body}, pkg.Size, nil
}
