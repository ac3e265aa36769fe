package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

const (
	// maxLine limits the length of a line in a listing. A line contains a path and
	// about 60 other bytes.
	maxLine = 8 << 10
	// maxTarget limits the size of a symbolic link's target.
	maxTarget = 4 << 10
)

// Modes of entries in a git tree.
const (
	modeTree       = "040000"
	modeFile       = "100644"
	modeGroupFile  = "100664" // in old repositories
	modeExecutable = "100755"
	modeLink       = "120000"
	modeSubmodule  = "160000"
)

// entry is a file, directory, symbolic link, or submodule in a tree.
type entry struct {
	mode, id string
	size     int64
}

// tree maps the paths in a commit to their entries, including directories.
type tree map[string]entry

// list reads the tree of a commit.
func (r repository) list(ctx context.Context, commit string, o Options) (tree, error) {
	t := tree{}
	var total int64
	return t, r.read(ctx, nil, func(from *bufio.Reader) error {
		for {
			line, err := from.ReadSlice(0)
			switch {
			case errors.Is(err, io.EOF) && len(line) == 0:
				return nil
			case errors.Is(err, bufio.ErrBufferFull):
				return fmt.Errorf("%w: a path exceeds %d bytes", ErrLimit, maxLine)
			case err != nil:
				return err
			}
			size, err := t.add(string(line[:len(line)-1]))
			switch total += size; {
			case err != nil:
				return err
			case len(t) > o.MaxEntries:
				return o.tooMany()
			case size > o.MaxContents || total > o.MaxContents:
				return o.tooMuch()
			}
		}
	}, "ls-tree", "-r", "-t", "-z", "-l", "--full-tree", commit)
}

func (o Options) tooMuch() error {
	return fmt.Errorf("%w: the files in the package exceed %d bytes", ErrLimit, o.MaxContents)
}

func (o Options) tooMany() error {
	return fmt.Errorf("%w: the package has more than %d files and directories", ErrLimit, o.MaxEntries)
}

// add adds the entry that a line from git ls-tree describes. The line contains the
// mode, the type, the ID, the size, a tab, and the path. For a file, add returns the
// size.
func (t tree) add(line string) (int64, error) {
	about, name, _ := strings.Cut(line, "\t")
	fields := strings.Fields(about)
	if len(fields) != 4 {
		return 0, fmt.Errorf("git ls-tree: unexpected line %q", line)
	}
	if _, exists := t[name]; exists {
		return 0, fmt.Errorf("%w: the commit contains %q twice", ErrUnsafe, name)
	}
	for element := range strings.SplitSeq(name, "/") {
		if element == "" || element == "." || element == ".." || text.IsDotGit(element) {
			return 0, fmt.Errorf("%w: the commit contains the path %q", ErrUnsafe, name)
		}
	}
	e := entry{mode: fields[0], id: fields[2]}
	if fields[3] != "-" {
		size, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil || size < 0 {
			return 0, fmt.Errorf("git ls-tree: unexpected line %q", line)
		}
		e.size = size
	}
	t[name] = e
	return e.size, nil
}

// File is a file in a commit or in another package. Path uses forward slashes.
type File struct {
	Path       string
	Executable bool
	Size       int64
	Open       func(ctx context.Context) (io.ReadCloser, error)
}

// packed returns the files in the tree. Symbolic links are replaced with copies of the
// files to which they refer.
func (t tree) packed(b blobs, o Options) ([]File, error) {
	var files []File
	links := map[string]string{}
	for name, e := range t {
		switch e.mode {
		case modeTree:
		case modeFile, modeGroupFile, modeExecutable:
			if path.Base(name) == ".gitmodules" && !o.AllowIncomplete {
				return nil, fmt.Errorf("%w: the commit contains %s, but submodules are not fetched", ErrIncomplete, name)
			}
			if !o.AllowIncomplete && b.startsWith(e, LFSPrefix) {
				return nil, fmt.Errorf("%w: %q is a Git LFS pointer, but LFS content is not fetched", ErrIncomplete, name)
			}
			files = append(files, File{Path: name, Executable: e.mode == modeExecutable, Size: e.size, Open: func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(b.open(e)), nil
			}})
		case modeLink:
			if e.size > maxTarget {
				return nil, fmt.Errorf("%w: the target of the symbolic link %q exceeds %d bytes", ErrUnsafe, name, maxTarget)
			}
			target, err := io.ReadAll(b.open(e))
			if err != nil {
				return nil, err
			}
			if links[name] = path.Join(path.Dir(name), string(target)); path.IsAbs(string(target)) {
				links[name] = string(target)
			}
		case modeSubmodule:
			if !o.AllowIncomplete {
				return nil, fmt.Errorf("%w: %q is a submodule, but submodules are not fetched", ErrIncomplete, name)
			}
		default:
			return nil, fmt.Errorf("%w: %q has the unsupported mode %s", ErrUnsafe, name, e.mode)
		}
	}
	return ExpandLinks(files, links, o)
}
