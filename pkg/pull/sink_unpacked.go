package pull

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// unpackedSink stores unpacked packages in DIR/HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/, the
// structure of OpenTofu's filesystem_mirror and plugin cache.
type unpackedSink struct {
	dir   string
	swept atomicfile.Sweeper
	// unpacked maps the digests of zips to the h1: hashes of their directories.
	unpacked *unpackedRecord
	// store, if not nil, contains packages that don't have to be unpacked again.
	store *store.Store
	// module, if not empty, is the directory of the only package.
	module string
}

func newUnpackedSink(dir string, s *store.Store) *unpackedSink {
	return &unpackedSink{dir: dir, unpacked: newUnpackedRecord(dir), store: s}
}

// NewModuleSink returns a sink that unpacks the package of one module directly to dir.
// If dir exists, it must be empty or already contain the package. Its parent directory
// contains temporary files until the package is complete.
func NewModuleSink(dir string) (Sink, error) {
	if err := checkDirectory(dir); err != nil {
		return nil, err
	}
	dir = filepath.Clean(dir)
	return &unpackedSink{dir: filepath.Dir(dir), module: dir, unpacked: &unpackedRecord{}}, nil
}

// Has reports whether the existing directory has the contents of the zip. It relies on
// the record that this program wrote when it unpacked a zip with this digest. It
// ignores the h1: hash in metadata, because this hash is not signed. See [Sink].
func (s *unpackedSink) Has(_ context.Context, p provider.Package) (path string, ok bool, err error) {
	if path, err = s.path(p); err != nil {
		return "", false, err
	}
	s.swept.Sweep(s.dir)
	s.swept.Sweep(filepath.Dir(path))
	at, err := directoryAt(path)
	h1 := s.unpacked.of(p.Digest)
	if err != nil || at == "" || h1 == "" {
		return path, false, err
	}
	got, err := sums.H1Dir(at)
	if err != nil || got != h1 {
		return path, false, nil //nolint:nilerr // Put returns the error
	}
	return path, true, startable(path, p.Address.Type)
}

// Put unpacks the zip while it is read. It also returns errors for unsafe archives, and
// a *[sums.MismatchError] if the package has a different h1: hash. See [Sink].
func (s *unpackedSink) Put(ctx context.Context, p provider.Package, open Opener) (path string, kept bool, err error) {
	path, kept, err = s.Has(ctx, p)
	if err != nil || kept {
		return path, kept, err
	}
	// 1. If the directory exists, read the zip only to compare it.
	if info, missing := os.Lstat(s.module); s.module != "" && missing == nil && info.IsDir() {
		_ = os.Remove(s.module) // fails if the directory is not empty
	}
	existing, err := hashDirectory(path)
	if err != nil {
		return path, false, err
	}
	if existing != "" {
		return path, true, s.compare(ctx, p, path, existing, open)
	}
	// 2. Unpack the zip to a temporary directory, and verify the directory. The
	// unpacked size is unknown, so check that the disk has room for at least the zip.
	if err := atomicfile.CheckFreeSpace(s.dir, p.Size); err != nil {
		return path, false, fmt.Errorf("writing %s: %w", path, err)
	}
	tmp, err := atomicfile.TempDir(filepath.Dir(path))
	if err != nil {
		return path, false, err
	}
	defer atomicfile.DiscardDir(tmp) // cleans up after a failure
	h1, err := s.fill(ctx, p, tmp, open)
	if err != nil {
		return path, false, err
	}
	// 3. Rename the directory, unless another process has created it first.
	kept, err = s.commit(tmp, path, h1)
	if err == nil && !kept {
		s.unpacked.add(p.Digest, h1)
	}
	return path, kept, err
}

// commit renames a temporary directory. If another process has created the directory,
// commit keeps that directory if it has the same h1: hash.
func (s *unpackedSink) commit(tmp, path, h1 string) (kept bool, err error) {
	err = atomicfile.CommitDir(tmp, path)
	if errors.Is(err, fs.ErrExist) {
		if kept, problem := s.holds(path, h1); problem != nil || kept {
			return kept, problem
		}
	}
	return false, err
}

// fill fills an empty directory with a copy from the store or with the contents of the
// zip. It returns the h1: hash of the directory.
func (s *unpackedSink) fill(ctx context.Context, p provider.Package, tmp string, open Opener) (h1 string, err error) {
	if tree, ok := s.store.Tree(ctx, p.Digest); ok {
		h1, err := copyStored(ctx, p, tree, tmp)
		if _, mismatch := errors.AsType[*sums.MismatchError](err); err == nil || mismatch {
			return h1, err
		}
		// Ignore other errors from the store. If these errors persist, unpacking returns
		// them.
		if err := packagezip.Empty(tmp); err != nil {
			return "", err
		}
	}
	contents, err := packagezip.UnpackAny(ctx, packagezip.Opener(open), p.Size, tmp, s.dir)
	if err := checkContents(p, contents, err); err != nil {
		return "", err
	}
	s.store.PutTree(ctx, p.Digest, store.Hashes{H1: contents.H1, Unpacked: contents.H1Unpacked}, tmp)
	return contents.H1Unpacked, nil
}

// copyStored copies an unpacked package from the store.
func copyStored(ctx context.Context, p provider.Package, tree *store.Tree, tmp string) (h1 string, err error) {
	defer func() { _ = tree.Close() }()
	known := tree.Hashes()
	if err := checkContents(p, packagezip.Contents{H1: known.H1}, nil); err != nil {
		return "", err
	}
	return known.Unpacked, tree.CopyTo(ctx, tmp, true)
}

// compare reads the zip, and returns [ErrExists] if the directory at path has different
// contents.
func (s *unpackedSink) compare(ctx context.Context, p provider.Package, path, existing string, open Opener) error {
	contents, err := packagezip.HashAny(ctx, packagezip.Opener(open), p.Size, s.dir)
	if err := checkContents(p, contents, err); err != nil {
		return err
	}
	if existing != contents.H1Unpacked {
		return otherContents(path, existing, contents.H1Unpacked)
	}
	s.unpacked.add(p.Digest, contents.H1Unpacked)
	return startable(path, p.Address.Type)
}

func (s *unpackedSink) path(p provider.Package) (string, error) {
	if s.module != "" {
		return s.module, nil
	}
	return mirrorPath(s.dir, p.Address, path.Join(p.Version.String(), p.Platform.String()))
}

// hashDirectory returns the h1: hash of the directory at path, or "" if the directory
// doesn't exist.
func hashDirectory(path string) (string, error) {
	at, err := directoryAt(path)
	if err != nil || at == "" {
		return "", err
	}
	return sums.H1Dir(at)
}

// directoryAt returns the directory at path after following links, or "" if the
// directory doesn't exist. For any other content, it returns [ErrExists].
func directoryAt(path string) (string, error) {
	fi, err := lookAt(path)
	if err != nil || fi == nil {
		return "", err
	}
	if !fi.IsDir() {
		return "", exists(path, "is %s, not a directory", kindOf(fi))
	}
	// Plugin caches can contain links to packages, but hashing doesn't follow links.
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	// Detect named pipes, because reading a named pipe would block forever.
	err = filepath.WalkDir(resolved, func(at string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !entry.Type().IsRegular() {
			return exists(path, "contains %s, which is not a regular file", filepath.Base(at))
		}
		return err
	})
	return resolved, err
}
