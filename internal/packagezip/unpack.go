package packagezip

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zip"
)

const (
	modeDirectory  = 0o755
	modeFile       = 0o644
	modeExecutable = 0o755
	// copyBuffer is large enough that writing costs little beside inflating.
	copyBuffer = 256 << 10
)

// Unpack writes the archive's files into dir, an existing empty directory, and
// brings their contents to the disk. It never writes outside of dir, whatever
// the archive or another process tries. After an error dir holds a part of the
// package and is the caller's to remove.
//
// A file becomes executable when its mode in the archive says so. In an archive
// that was made without Unix modes those that OpenTofu might launch do.
func (r *Reader) Unpack(ctx context.Context, dir string) error {
	there, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		return fmt.Errorf("unpacking into %s: the directory is not empty", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()

	u := unpacker{root: root, made: map[string]bool{".": true}, buffer: make([]byte, copyBuffer)}
	for _, entry := range r.directories {
		if err := u.mkdir(path.Clean(entry.Name)); err != nil {
			return err
		}
	}
	for _, entry := range r.files {
		if err := u.file(ctx, entry); err != nil {
			return fmt.Errorf("unpacking %s: %w", entry.Name, err)
		}
	}
	return nil
}

type unpacker struct {
	root *os.Root
	// made are the directories that are known to be there.
	made   map[string]bool
	buffer []byte
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

func (u *unpacker) file(ctx context.Context, entry *zip.File) error {
	if err := u.mkdir(path.Dir(entry.Name)); err != nil {
		return err
	}
	content, err := open(ctx, entry)
	if err != nil {
		return err
	}
	defer content.Close()
	// O_EXCL: two names that are one to this disk are an error and not a loss.
	f, err := u.root.OpenFile(entry.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeOf(entry))
	if err != nil {
		return err
	}
	defer f.Close()
	// The file's own ReadFrom would bring a smaller buffer along.
	if _, err := io.CopyBuffer(struct{ io.Writer }{f}, content, u.buffer); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// modeOf keeps of a mode what matters for a provider; the umask narrows it.
func modeOf(entry *zip.File) fs.FileMode {
	executable := entry.Mode()&0o111 != 0
	if !hasUnixMode(entry) {
		executable = strings.HasPrefix(entry.Name, executablePrefix) && !strings.Contains(entry.Name, "/")
	}
	if executable {
		return modeExecutable
	}
	return modeFile
}

// hasUnixMode goes by the upper byte of "version made by" and the upper half of
// the external attributes (APPNOTE.TXT 4.4.2 and 4.4.15), which archivers that
// know of no modes leave zero on Unix too.
func hasUnixMode(entry *zip.File) bool {
	const unix, darwin = 3, 19
	system := entry.CreatorVersion >> 8
	return (system == unix || system == darwin) && entry.ExternalAttrs>>16 != 0
}
