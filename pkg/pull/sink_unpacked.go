package pull

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// unpackedSink stores what the zips hold as
// DIR/HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/, which OpenTofu's filesystem_mirror
// reads and its plugin cache looks like.
type unpackedSink struct {
	dir   string
	swept atomicfile.Sweeper
	// unpacked knows what zips unpack to.
	unpacked *unpackedRecord
	// store has packages that need not be unpacked; nil has none.
	store *store.Store
}

func newUnpackedSink(dir string, s *store.Store) *unpackedSink {
	return &unpackedSink{dir: dir, unpacked: newUnpackedRecord(dir), store: s}
}

// Has reports whether the directory that is there is what the zip unpacks to: by
// this machine's own word, written when it unpacked a zip of that digest. What an
// origin or a mirror states of the h1 is no proof. See [Sink].
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
		return path, false, nil //nolint:nilerr // Put says what is wrong there
	}
	return path, true, startable(path, p.Address.Type)
}

// Put unpacks the zip while it arrives, see [Sink]. Its errors are also
// those of an unsafe archive, and *[sums.MismatchError] when the package's h1 is
// known and the zip has another.
func (s *unpackedSink) Put(ctx context.Context, p provider.Package, open Opener) (path string, kept bool, err error) {
	path, kept, err = s.Has(ctx, p)
	if err != nil || kept {
		return path, kept, err
	}
	// 1. What is there already is compared, and the zip only read for that.
	there, err := hashDirectory(path)
	if err != nil {
		return path, false, err
	}
	if there != "" {
		return path, true, s.compare(ctx, p, path, there, open)
	}
	// 2. Else it is unpacked beside its place, and judged. Unpacked it needs more
	// room than the zip, how much is not known yet.
	if err := atomicfile.CheckRoom(s.dir, p.Size); err != nil {
		return path, false, fmt.Errorf("writing %s: %w", path, err)
	}
	tmp, err := atomicfile.TempDir(filepath.Dir(path))
	if err != nil {
		return path, false, err
	}
	defer atomicfile.DiscardDir(tmp) // what remains after a failure
	h1, err := s.fill(ctx, p, tmp, open)
	if err != nil {
		return path, false, err
	}
	// 3. Its name, unless another process was faster.
	err = atomicfile.CommitDir(tmp, path)
	if errors.Is(err, fs.ErrExist) {
		if kept, problem := s.holds(path, h1); problem != nil || kept {
			return path, kept, problem
		}
	}
	if err == nil {
		s.unpacked.add(p.Digest, h1)
	}
	return path, false, err
}

// fill puts what the zip holds into an empty directory, and gives the directory's
// h1: a copy of what the store has, or what the zip unpacks to while it arrives.
func (s *unpackedSink) fill(ctx context.Context, p provider.Package, tmp string, open Opener) (h1 string, err error) {
	if tree, ok := s.store.Tree(ctx, p.Digest); ok {
		h1, err := copyStored(ctx, p, tree, tmp)
		if _, mismatch := errors.AsType[*sums.MismatchError](err); err == nil || mismatch {
			return h1, err
		}
		// What else went wrong goes wrong again, or does not matter.
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

// copyStored copies a package out of the store.
func copyStored(ctx context.Context, p provider.Package, tree *store.Tree, tmp string) (h1 string, err error) {
	defer func() { _ = tree.Close() }()
	known := tree.Hashes()
	if err := checkContents(p, packagezip.Contents{H1: known.H1}, nil); err != nil {
		return "", err
	}
	return known.Unpacked, tree.CopyTo(ctx, tmp)
}

// compare reads the zip to know what the directory at path has to be.
func (s *unpackedSink) compare(ctx context.Context, p provider.Package, path, there string, open Opener) error {
	contents, err := packagezip.HashAny(ctx, packagezip.Opener(open), p.Size, s.dir)
	if err := checkContents(p, contents, err); err != nil {
		return err
	}
	if there != contents.H1Unpacked {
		return otherContents(path, there, contents.H1Unpacked)
	}
	s.unpacked.add(p.Digest, contents.H1Unpacked)
	return startable(path, p.Address.Type)
}

func (s *unpackedSink) path(p provider.Package) (string, error) {
	return mirrorPath(s.dir, p.Address, path.Join(p.Version.String(), p.Platform.String()))
}

// hashDirectory returns the h1 of the directory at path, empty when the path is
// free.
func hashDirectory(path string) (string, error) {
	at, err := directoryAt(path)
	if err != nil || at == "" {
		return "", err
	}
	return sums.H1Dir(at)
}

// directoryAt returns the directory at path, behind links, empty when the path is
// free. Anything else there is [ErrExists].
func directoryAt(path string) (string, error) {
	fi, err := lookAt(path)
	if err != nil || fi == nil {
		return "", err
	}
	if !fi.IsDir() {
		return "", exists(path, "is %s where an unpacked provider belongs", kindOf(fi))
	}
	// A cache may link to packages elsewhere, and the hash follows no link.
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	// Reading a named pipe would never end.
	err = filepath.WalkDir(resolved, func(at string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !entry.Type().IsRegular() {
			return exists(path, "holds %s, which is no regular file", filepath.Base(at))
		}
		return err
	})
	return resolved, err
}
