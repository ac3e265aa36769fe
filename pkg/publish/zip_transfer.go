package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/sbom"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// zipTransfer transfers one zip from the source to the repository.
type zipTransfer struct {
	*job
	retrier transfer.Retrier
	pkg     provider.Package
	// path is the path of the zip on this machine. If fetched is set, the file is
	// temporary. Otherwise, it is the source's file.
	path    string
	fetched bool
	// stored reports whether the repository has the zip. If checks is set, send determines
	// this when the source has returned the size of the zip.
	stored, checks bool
	// describes reports whether an SBOM is generated while the zip is hashed. The SBOM
	// is stored in sbom.
	describes bool
	sbom      provider.Document
	found     contentFacts
}

// contentFacts contains the known facts about the contents of a zip.
type contentFacts struct {
	h1, h1Unpacked string
	// warning is the value for [PackageResult] Warning.
	warning string
}

func (t *zipTransfer) result() PackageResult {
	p := t.pkg
	p.H1, p.H1Unpacked = t.found.h1, t.found.h1Unpacked
	return PackageResult{Package: p, Sent: !t.stored, Warning: t.found.warning}
}

// hashOptions returns the options for hashing the zip.
func (t *zipTransfer) hashOptions() []packagezip.HashOption {
	if !t.describes {
		return nil
	}
	return []packagezip.HashOption{packagezip.WithBuildInfo(t.pkg.Address.Type)}
}

// makeSBOM generates the SBOM for the zip from a local file. If the source has no such
// file, makeSBOM writes the zip to a file in dir.
func (t *zipTransfer) makeSBOM(ctx context.Context, dir string) error {
	if t.path == "" {
		t.path, t.fetched = filepath.Join(dir, t.pkg.Filename), true
		err := t.retrier.Do(ctx, "fetching "+t.pkg.Filename, func() error { return t.fetch(ctx) })
		if err != nil {
			return err
		}
	}
	sbom, err := t.options.SBOM(ctx, t.pkg, t.path)
	if err != nil {
		return fmt.Errorf("generating the SBOM for %s: %w", t.pkg.Filename, err)
	}
	t.pkg.Documents = append(slices.Clip(t.pkg.Documents), sbom)
	return nil
}

// fetch writes the zip to the local file. It reads the zip from the repository or, if
// the repository doesn't have it, from the source.
func (t *zipTransfer) fetch(ctx context.Context) (err error) {
	var body io.ReadCloser
	size := t.pkg.Size
	if t.stored {
		body, err = t.openStored(ctx)
	} else {
		body, size, err = t.src.Open(ctx, t.pkg)
	}
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if err := atomicfile.CheckFreeSpace(filepath.Dir(t.path), max(t.pkg.Size, size)); err != nil {
		return fmt.Errorf("storing %s in a temporary directory: %w", t.pkg.Filename, err)
	}
	content := transfer.Start(t.Progress, t.pkg, size, body)
	var n int64
	err = content.End(atomicfile.Write(t.path, 0o600, func(w io.Writer) (err error) {
		n, err = io.Copy(w, content)
		return err
	}))
	if err == nil { // otherwise, the next attempt would expect the size of the partial content
		t.pkg.Size = n
	}
	return err
}

// send pushes the zip, unless the repository has it. It computes the h1 hash in the
// same pass.
func (t *zipTransfer) send(ctx context.Context) error {
	open, progress, stated := t.src.Open, t.Progress, t.pkg.Size
	if t.fetched {
		open, progress = t.openFetched, provider.Progress{Retry: progress.Retry} // the progress of fetching was already reported
	}
	return t.retrier.Do(ctx, "sending "+t.pkg.Filename, func() error {
		t.pkg.Size = stated
		body, size, err := open(ctx, t.pkg)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		if stated < 0 {
			t.pkg.Size = size
		}
		if t.checks && !isSmall(t.pkg.Size) {
			if t.stored, err = t.isStored(ctx, &t.pkg); t.stored || err != nil {
				return err
			}
		}
		content := transfer.Start(progress, t.pkg, t.pkg.Size, body)
		var zip io.Reader = content
		if t.pkg.Size < 0 { // registries require the size in advance
			spool, err := atomicfile.NewScratchFile(t.TempDir, -1)
			if err != nil {
				return content.End(err)
			}
			defer func() { _ = spool.Close() }()
			if t.pkg.Size, err = io.Copy(spool, content); err != nil {
				return content.End(err)
			}
			zip = spool.Reader()
		}
		t.found, err = t.push(ctx, zip)
		return content.End(err)
	})
}

func (t *zipTransfer) openFetched(_ context.Context, pkg provider.Package) (io.ReadCloser, int64, error) {
	f, err := os.Open(t.path)
	if err != nil {
		return nil, 0, err
	}
	return sums.NewReadCloser(f, pkg.Filename, pkg.Size, pkg.Digest), pkg.Size, nil
}

// push pushes the content of the zip and returns the facts about it. The source's h1
// hash is not signed, so push verifies it if the verification requires no additional
// transfer. If the zip is invalid or has a different h1 hash, push withholds the last
// byte. If a zip can't be hashed as a stream, or if it has directory entries and was not
// hashed, it is read again after the push.
func (t *zipTransfer) push(ctx context.Context, content io.Reader) (found contentFacts, err error) {
	zip := artifact.ZipDescriptor(t.pkg)
	if !t.describes && (t.options.NoH1 || t.pkg.H1 != "" && t.repo.Capabilities().BlobPath == nil) {
		var listing packagezip.Listing
		if err := t.repo.PushBlob(ctx, zip, io.TeeReader(content, &listing)); err != nil {
			return contentFacts{}, err
		}
		contents, _ := listing.Contents()
		if contents.Directories && !t.options.NoH1 {
			return t.readContents(ctx)
		}
		return t.fromListing(contents), nil
	}
	w := packagezip.NewHashWriter(ctx, t.hashOptions()...)
	defer func() { _ = w.Close() }()
	again := false
	g := &verifyingReader{src: io.TeeReader(content, w), open: func() error {
		contents, err := w.Contents()
		_, again = errors.AsType[*packagezip.NotStreamableError](err)
		switch {
		case again && t.path != "":
			again = false
			found, err = t.readContents(ctx)
		case again:
			err = nil
		default:
			found, err = t.check(contents, err)
		}
		return err
	}}
	err = t.repo.PushBlob(ctx, zip, g)
	switch failure := g.verdict(); {
	case failure != nil: // the error of the push might hide this failure
		return contentFacts{}, failure
	case err != nil:
		return contentFacts{}, err
	case again:
		return t.readContents(ctx)
	}
	return found, nil
}

// readContents hashes the zip in a local file of the source or the repository. Without a
// local file, it reads the repository's blob as a stream. It uses a temporary file only
// if necessary.
func (t *zipTransfer) readContents(ctx context.Context) (contentFacts, error) {
	path := t.path
	if blobPath := t.repo.Capabilities().BlobPath; blobPath != nil && path == "" {
		path, _ = blobPath(t.pkg.Digest) // without a file, the blob is read
	}
	var contents packagezip.Contents
	var err error
	if path != "" {
		contents, err = hashFile(ctx, path, t.pkg.Size, t.hashOptions()...)
	} else {
		err = t.retrier.Do(ctx, "reading back "+t.pkg.Filename, func() (err error) {
			contents, err = packagezip.HashAny(ctx, t.openStored, t.pkg.Size, t.TempDir, t.hashOptions()...)
			return err
		})
	}
	return t.check(contents, err)
}

// openStored opens the repository's zip.
func (t *zipTransfer) openStored(ctx context.Context) (io.ReadCloser, error) {
	return repository.Verified(ctx, t.repo, artifact.ZipDescriptor(t.pkg), t.pkg.Filename)
}

// hashFile computes the h1 hash of a zip file with the given size.
func hashFile(ctx context.Context, path string, size int64, options ...packagezip.HashOption) (contents packagezip.Contents, err error) {
	f, err := os.Open(path)
	if err != nil {
		return contents, err
	}
	defer func() { _ = f.Close() }()
	archive, err := packagezip.Open(f, size)
	if err != nil {
		return contents, err
	}
	return archive.Contents(ctx, options...)
}

// fromListing returns the facts about a zip that was not hashed, with the source's
// hashes.
func (t *zipTransfer) fromListing(contents packagezip.Contents) contentFacts {
	found := contentFacts{h1: t.pkg.H1, h1Unpacked: t.pkg.H1Unpacked}
	if !t.address.IsModule() {
		found.warning = contents.ModeProblem(t.pkg.Address.Type, t.pkg.Platform)
	}
	return found
}

// check returns the facts about a zip. err is the result of hashing the zip. check
// returns an error if the h1 hash doesn't match the source's. It also generates the
// SBOM. With NoH1, it returns the source's h1 hash.
func (t *zipTransfer) check(contents packagezip.Contents, err error) (contentFacts, error) {
	if err != nil {
		name := t.pkg.Filename
		if t.path != "" && !t.fetched {
			name = t.path
		}
		return contentFacts{}, fmt.Errorf("reading %s: %w", name, err)
	}
	if err := contents.VerifyH1(t.pkg.Filename, t.pkg.H1); err != nil {
		return contentFacts{}, err
	}
	if t.describes {
		executable, _ := contents.Executable(t.pkg.Address.Type)
		document, err := sbom.CycloneDX(t.pkg, executable, contents.BuildInfo)
		if err != nil {
			return contentFacts{}, fmt.Errorf("generating the SBOM for %s: %w", t.pkg.Filename, err)
		}
		t.sbom = artifact.NewDocument(sbomName(t.pkg, artifact.MediaTypeCycloneDX), artifact.MediaTypeCycloneDX, document)
	}
	found := t.fromListing(contents)
	if !t.options.NoH1 {
		found.h1, found.h1Unpacked = contents.H1, ""
		if contents.Directories {
			found.h1Unpacked = contents.H1Unpacked
		}
	}
	return found, nil
}
