package pull

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// errZipRequired is returned by sinks that store zips if a package has no zip.
var errZipRequired = errors.New("a zip is required")

// fetchDirectory stores a package that exists in the source only as an unpacked
// directory. done is false if the package has a zip. If the sink requires zips, the
// error is the source's error from opening the zip.
func fetchDirectory(ctx context.Context, src provider.Source, sink Sink, p provider.Package) (r Result, done bool, err error) {
	r.Package = p
	directory := provider.CapabilitiesOf(src).Directory
	if directory == nil {
		return r, false, nil
	}
	from, ok := directory(p)
	if !ok {
		return r, false, nil
	}
	r.Path, r.Kept, err = sink.PutDirectory(ctx, p, from)
	if errors.Is(err, errZipRequired) {
		body, _, err := src.Open(ctx, p)
		if err == nil {
			_ = body.Close()
			err = fmt.Errorf("%s exists only as the unpacked directory %s, but a zip is required", p.Filename, from)
		}
		return r, true, err
	}
	return r, true, err
}

// PutDirectory copies an unpacked package. If the copy's h1: hash doesn't match the
// package, PutDirectory returns an error. See [Sink].
func (s *unpackedSink) PutDirectory(ctx context.Context, p provider.Package, from string) (path string, kept bool, err error) {
	if p.H1 == "" {
		return "", false, fmt.Errorf("copying %s: no h1 hash is available to verify the package", from)
	}
	path, err = s.path(p)
	if err != nil {
		return "", false, err
	}
	// 1. Keep an existing package.
	if kept, err = s.holds(path, p.H1); err != nil || kept {
		return path, kept, err
	}
	// 2. Copy the files to a temporary directory, and verify the copy.
	parent := filepath.Dir(path)
	s.swept.Sweep(parent)
	tmp, err := atomicfile.TempDir(parent)
	if err != nil {
		return path, false, err
	}
	defer atomicfile.DiscardDir(tmp) // cleans up after a failure
	if err := copyTree(ctx, tmp, from); err != nil {
		return path, false, fmt.Errorf("copying %s: %w", from, err)
	}
	got, err := hashDirectory(tmp)
	if err != nil {
		return path, false, err
	}
	if got != p.H1 {
		return path, false, &sums.MismatchError{Name: from, Got: got, Want: p.H1}
	}
	// 3. Rename the directory, unless another process has created it first.
	kept, err = s.commit(tmp, path, p.H1)
	return path, kept, err
}

// holds reports whether the directory at path has the given h1: hash. If path doesn't
// exist, holds returns false. For any other content, it returns [ErrExists].
func (s *unpackedSink) holds(path, want string) (bool, error) {
	got, err := hashDirectory(path)
	if err != nil || got == "" {
		return false, err
	}
	if got != want {
		return false, otherContents(path, got, want)
	}
	return true, nil
}

// copyTree copies the files below a directory to an empty directory, and flushes them
// to disk. It skips empty directories, because no hash includes them.
func copyTree(ctx context.Context, to, from string) error {
	resolved, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	source, err := os.OpenRoot(resolved)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	files, err := atomicfile.ListFiles(source)
	if err != nil {
		return err
	}
	return atomicfile.CopyFiles(ctx, target, source, slices.DeleteFunc(files, atomicfile.Entry.IsDir), true)
}
