package git

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// maxLinks is the maximum number of links to follow until a file is found.
const maxLinks = 8

// ExpandLinks replaces links with copies of the files to which they refer, and sorts
// all files by path. links maps the paths of links to their destinations. A destination
// is relative to the root and can be a file, a directory, or another link. Links to
// other paths, link cycles, and duplicate paths are errors. o limits the number of
// files and their total size.
func ExpandLinks(files []File, links map[string]string, o Options) ([]File, error) {
	e := expansion{files: map[string]File{}, links: links, options: o}
	for _, f := range files {
		if _, isLink := links[f.Path]; isLink || e.files[f.Path].Path != "" {
			return nil, fmt.Errorf("%w: the package contains %q twice", ErrUnsafe, f.Path)
		}
		e.files[f.Path] = f
		e.names = append(e.names, f.Path)
	}
	for name := range links {
		e.names = append(e.names, name)
	}
	slices.Sort(e.names)
	for _, name := range e.names {
		if !e.add(name, name, 0) {
			return nil, fmt.Errorf("%w: the symbolic link %q doesn't refer to a file or directory in the package", ErrUnsafe, name)
		}
		if e.err != nil {
			return nil, e.err
		}
	}
	slices.SortFunc(e.expanded, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return e.expanded, nil
}

// expansion is the state of a call to [ExpandLinks].
type expansion struct {
	files map[string]File
	links map[string]string
	// names contains the paths of files and links, sorted.
	names   []string
	options Options

	expanded []File
	size     int64
	// err is set if expanded exceeds the limits.
	err error
}

// add adds the file or link with the given name to expanded, under the path as. For a
// link, it adds the link's destination. It reports whether all links have destinations.
// The work is proportional to the number of added files.
func (e *expansion) add(as, name string, followed int) bool {
	if f, isFile := e.files[name]; isFile {
		f.Path = as
		e.expanded, e.size = append(e.expanded, f), e.size+f.Size
		if e.size > e.options.MaxContents {
			e.err = e.options.tooMuch()
		} else if len(e.expanded) > e.options.MaxEntries {
			e.err = e.options.tooMany()
		}
		return true
	}
	to, isLink := e.links[name]
	if !isLink || followed == maxLinks {
		return false
	}
	start, _ := slices.BinarySearch(e.names, to)
	if start < len(e.names) && e.names[start] == to {
		return e.add(as, to, followed+1)
	}
	found := false
	start, _ = slices.BinarySearch(e.names, to+"/")
	for _, inside := range e.names[start:] {
		if e.err != nil || !strings.HasPrefix(inside, to+"/") {
			break
		}
		if found = e.add(path.Join(as, strings.TrimPrefix(inside, to)), inside, followed+1); !found {
			break
		}
	}
	return found
}
