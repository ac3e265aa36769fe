package pull

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/ctxio"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// UnpackedSink stores what the zips hold as
// DIR/HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/, which OpenTofu's filesystem_mirror
// reads and its plugin cache looks like.
type UnpackedSink struct {
	dir   string
	swept atomicfile.Sweeper
}

// NewUnpackedSink makes a sink of a directory, which need not exist yet.
func NewUnpackedSink(dir string) (*UnpackedSink, error) {
	if err := checkDirectory(dir); err != nil {
		return nil, err
	}
	return &UnpackedSink{dir: dir}, nil
}

// Has compares the h1 of the directory that is there with that of the package,
// see [Sink]. A difference decides nothing: the h1 may be unknown, and that of
// a zip which lists directories is never that of a directory.
func (s *UnpackedSink) Has(_ context.Context, p provider.Package) (path string, ok bool, err error) {
	if path, err = s.path(p); err != nil {
		return "", false, err
	}
	s.swept.Sweep(s.dir)
	s.swept.Sweep(filepath.Dir(path))
	h1, err := hashDirectory(path)
	return path, err == nil && h1 != "" && h1 == p.H1, err
}

// Put unpacks the zip, see [Sink]. Its errors are also those of
// [packagezip.Open], and *[sums.MismatchError] when the package's h1 is known
// and the zip has another.
func (s *UnpackedSink) Put(ctx context.Context, p provider.Package, r io.Reader) (path string, kept bool, err error) {
	path, kept, err = s.Has(ctx, p)
	if err != nil || kept {
		return path, kept, err
	}
	// 1. The whole zip: its directory of entries is at its end.
	spool, err := atomicfile.Create(filepath.Join(s.dir, provider.Filename(p.Address, p.Version, p.Platform)), modeZip)
	if err != nil {
		return path, false, err
	}
	defer spool.Discard() // it never gets its name
	size, err := io.Copy(spool, ctxio.Reader(ctx, r))
	if err != nil {
		return path, false, err
	}
	// 2. Only what keeps the rules and has the right hash is unpacked.
	zip, err := packagezip.Open(spool, size)
	if err != nil {
		return path, false, fmt.Errorf("unpacking %s: %w", p.Filename, err)
	}
	if p.H1 != "" { // which nobody signs
		if _, err := sums.VerifyH1Zip(ctx, spool, size, p.Filename+" h1", p.H1); err != nil {
			return path, false, err
		}
	}
	// 3. Unless it is there.
	if kept, err = compare(ctx, path, zip); err == nil && !kept {
		kept, err = unpack(ctx, zip, path)
	}
	return path, kept, err
}

func (s *UnpackedSink) path(p provider.Package) (string, error) {
	return mirrorPath(s.dir, p.Address, path.Join(p.Version.String(), p.Platform.String()))
}

// unpack makes path out of the zip, or keeps what another process made there in
// the meantime.
func unpack(ctx context.Context, zip *packagezip.Reader, path string) (kept bool, err error) {
	parent := filepath.Dir(path)
	tmp, err := atomicfile.TempDir(parent)
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // what remains after a failure
	if err := zip.Unpack(ctx, tmp); err != nil {
		return false, err
	}
	err = atomicfile.CommitDir(tmp, path)
	if errors.Is(err, fs.ErrExist) {
		if kept, problem := compare(ctx, path, zip); problem != nil || kept {
			return kept, problem
		}
	}
	return false, err
}

// compare tells whether path holds what the zip unpacks to. A free path holds
// nothing, anything else in it is an *[ExistsError].
func compare(ctx context.Context, path string, zip *packagezip.Reader) (same bool, err error) {
	got, err := hashDirectory(path)
	if err != nil || got == "" {
		return false, err
	}
	want, err := zip.H1Unpacked(ctx)
	if err != nil {
		return false, err
	}
	if got != want {
		return false, otherContents(path, got, want)
	}
	return true, nil
}

// hashDirectory gives the h1 of the directory at path, empty when the path is
// free.
func hashDirectory(path string) (string, error) {
	fi, err := lookAt(path)
	if err != nil || fi == nil {
		return "", err
	}
	if !fi.IsDir() {
		return "", &ExistsError{Path: path, Problem: "is " + kindOf(fi) + " where an unpacked provider belongs"}
	}
	// A cache may link to packages elsewhere, and the hash follows no link.
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	// Reading a named pipe would never end.
	err = filepath.WalkDir(resolved, func(at string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !entry.Type().IsRegular() {
			return &ExistsError{Path: path, Problem: fmt.Sprintf("holds %s, which is no regular file", filepath.Base(at))}
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return sums.H1Dir(resolved)
}
