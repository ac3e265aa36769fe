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
	// modeUnfinished is a file's until the archive is known to be right.
	modeUnfinished = 0o600
	// syncs is how many files are brought to the disk at the same time: a disk
	// does better with several small ones.
	syncs = 8
)

// UnpackStream reads an archive once, from front to back, and unpacks it into
// dir, an existing empty directory. Src and the errors are those of [HashStream],
// dir and the files' modes those of [Reader.Unpack].
//
// Until the whole archive was read and found to be right, each file is of mode
// 0600 and may be something else than it seems: an error leaves what has to be
// removed, and not to be looked at.
func UnpackStream(ctx context.Context, src io.Reader, dir string) (Contents, error) {
	return unpack(ctx, dir, func(visit visitor) ([]entry, error) {
		ahead := transfer.ReadAhead(src)
		defer ahead.Close()
		return walkStream(ctx, ahead, usualLimits(), visit)
	})
}

// Extract unpacks the archive as [Reader.Unpack] does and hashes what it holds
// in the same pass.
func (r *Reader) Extract(ctx context.Context, dir string) (Contents, error) {
	return unpack(ctx, dir, func(visit visitor) ([]entry, error) { return r.walk(ctx, visit) })
}

// Unpack writes the archive's files into dir, an existing empty directory, and
// brings their contents to the disk. It never writes outside of dir, whatever
// the archive or another process tries. After an error dir holds a part of the
// package and is the caller's to remove.
//
// A file becomes executable when its mode in the archive says so. In an archive
// that was made without Unix modes those that OpenTofu might launch do.
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

// allowedMode is what the umask leaves of a mode. It can be asked for only by
// making a file: the other way sets it for the whole process.
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

// unpacker is a sink that makes files.
type unpacker struct {
	hasher
	root    *os.Root
	allowed fs.FileMode
	// made are the directories that are known to be there.
	made map[string]bool
	// file is the one that is written, nil for a directory.
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
	// O_EXCL: two names that are one to this disk are an error and not a loss.
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

// abandon closes what an error left open.
func (u *unpacker) abandon() {
	if u.file != nil {
		_ = u.file.Close()
	}
}

// finish sets the modes of all files and brings them to the disk, which costs
// nothing for an archive that was found to be wrong.
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
	return group.Wait()
}

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

// modeOf keeps of a mode what matters for a provider; the umask narrows it.
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

// hasUnixMode goes by the upper byte of "version made by" and the upper half of
// the external attributes (APPNOTE.TXT 4.4.2 and 4.4.15), which archivers that
// know of no modes leave zero on Unix too.
func hasUnixMode(madeBy uint16, attributes uint32) bool {
	const unix, darwin = 3, 19
	system := madeBy >> 8
	return (system == unix || system == darwin) && attributes>>16 != 0
}
