package packagezip

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
)

const (
	modeDirectory  = 0o755
	modeFile       = 0o644
	modeExecutable = 0o755
	// modeUnfinished is the mode of a file until the archive has been verified.
	modeUnfinished = 0o600
	// syncs is the number of files that are synced concurrently. File systems with a
	// journal sync many files in one commit. With 64, a module with 1,000 files is
	// unpacked about 1.3 times as fast as with 8.
	syncs = 64
)

// UnpackStream unpacks an archive to dir, an existing empty directory, in one pass. It
// returns the same errors as [HashStream] and sets the same file modes as
// [Reader.Unpack].
//
// Until the complete archive has been verified, each file has mode 0600, and its
// content is not trustworthy. After an error, the caller must remove the contents of
// dir.
func UnpackStream(ctx context.Context, src io.Reader, dir string) (Contents, error) {
	return unpack(ctx, dir, func(visit visitor) ([]entry, error) {
		ahead := transfer.ReadAhead(src)
		defer ahead.Close()
		return walkStream(ctx, ahead, usualLimits(), visit)
	})
}

// Extract unpacks the archive like [Reader.Unpack] and hashes the archive in the same
// pass.
func (r *Reader) Extract(ctx context.Context, dir string) (Contents, error) {
	return unpack(ctx, dir, func(visit visitor) ([]entry, error) { return r.walk(ctx, visit) })
}

// Unpack writes the archive's files to dir, an existing empty directory, and syncs them
// to the disk. Unpack never writes outside dir, even if the archive or another process
// tries to redirect the writes. After an error, the caller must remove the contents of
// dir.
//
// A file is executable if its mode in the archive is executable. If the archive has no
// Unix modes, Unpack makes the files that OpenTofu could start executable.
func (r *Reader) Unpack(ctx context.Context, dir string) error {
	_, err := r.Extract(ctx, dir)
	return err
}

func unpack(ctx context.Context, dir string, walk func(visitor) ([]entry, error)) (Contents, error) {
	there, err := os.ReadDir(dir)
	if err != nil {
		return Contents{}, err
	}
	if len(there) > 0 {
		return Contents{}, fmt.Errorf("unpacking into %s: the directory is not empty", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Contents{}, err
	}
	defer root.Close()
	allowed, err := allowedMode(root)
	if err != nil {
		return Contents{}, err
	}
	u := &unpacker{root: root, allowed: allowed, made: map[string]bool{".": true}}
	defer u.abandon()
	return consume(ctx, u, walk)
}

// allowedMode returns the mode bits that the umask allows. It creates a file to
// determine them, because reading the umask requires setting it for the whole process.
func allowedMode(root *os.Root) (fs.FileMode, error) {
	const probe = "mode"
	f, err := root.OpenFile(probe, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.ModePerm)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	return info.Mode().Perm(), root.Remove(probe)
}

// unpacker is a sink that writes files.
type unpacker struct {
	hasher
	root    *os.Root
	allowed fs.FileMode
	// made contains the existing directories.
	made map[string]bool
	// file is the current file, or nil for a directory.
	file      *os.File
	writeback atomicfile.Writeback
}

func (u *unpacker) mkdir(dir string) error {
	if u.made[dir] {
		return nil
	}
	if err := u.root.MkdirAll(dir, modeDirectory); err != nil {
		return err
	}
	u.made[dir] = true
	return nil
}

func (u *unpacker) begin(name string) error {
	if err := u.hasher.begin(name); err != nil {
		return err
	}
	if strings.HasSuffix(name, "/") {
		return u.mkdir(path.Clean(name))
	}
	if err := u.mkdir(path.Dir(name)); err != nil {
		return err
	}
	// O_EXCL makes opening fail if two names are equal on this file system.
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeUnfinished)
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", name, err)
	}
	u.file, u.writeback = f, atomicfile.Writeback{}
	return nil
}

func (u *unpacker) write(p []byte) error {
	if u.file != nil {
		n, err := u.file.Write(p)
		if err != nil {
			return err
		}
		u.writeback.Wrote(u.file, n)
	}
	return u.hasher.write(p)
}

func (u *unpacker) end(name string) error {
	if u.file != nil {
		if err := u.file.Close(); err != nil {
			return err
		}
		u.file = nil
	}
	return u.hasher.end(name)
}

// abandon closes open files after an error.
func (u *unpacker) abandon() {
	if u.file != nil {
		_ = u.file.Close()
	}
}

// finish sets the modes of all files and syncs the files. It is called after the
// verification, so that files of invalid archives are not synced.
func (u *unpacker) finish(ctx context.Context, entries []entry) error {
	var group errgroup.Group
	group.SetLimit(syncs)
	for _, e := range entries {
		if e.isDirectory() {
			continue
		}
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return u.settle(e)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return u.hasher.finish(ctx, entries)
}

// settle sets the mode of a file and syncs it.
func (u *unpacker) settle(e entry) error {
	f, err := u.root.OpenFile(e.name, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", e.name, err)
	}
	defer f.Close()
	if err := f.Chmod(modeOf(e) & u.allowed); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// modeOf returns the mode of a file. It preserves only whether the file is executable.
func modeOf(e entry) fs.FileMode {
	executable := e.mode()&0o111 != 0
	if !hasUnixMode(e.madeBy, e.attributes) {
		executable = strings.HasPrefix(e.name, executablePrefix) && !strings.Contains(e.name, "/")
	}
	if executable {
		return modeExecutable
	}
	return modeFile
}

// hasUnixMode reports whether an entry specifies a Unix mode, based on the upper byte
// of "version made by" and the upper half of the external attributes (APPNOTE.TXT 4.4.2
// and 4.4.15). Archivers without support for modes set the external attributes to zero,
// even on Unix.
func hasUnixMode(madeBy uint16, attributes uint32) bool {
	const unix, darwin = 3, 19
	system := madeBy >> 8
	return (system == unix || system == darwin) && attributes>>16 != 0
}
