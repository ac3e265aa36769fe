package module

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/git"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Directory describes the module in a directory.
type Directory struct {
	// Files contains the files of the package, sorted by path.
	Files []File
	// Untracked contains the paths of the excluded files that git doesn't track, sorted.
	// It is empty outside of git work trees.
	Untracked []string
	// Revision is the git commit, or empty if tracked files differ from the commit or
	// the directory is not in a git work tree.
	Revision string
	// Versions contains the versions in the commit's tags, newest first.
	Versions []provider.Version
}

// Version returns the version in the commit's tag. It returns an error if the commit
// has no such tag, or if it has tags for different versions.
func (d Directory) Version() (provider.Version, error) {
	switch len(d.Versions) {
	case 1:
		return d.Versions[0], nil
	case 0:
		return provider.Version{}, errors.New("the directory is not an unmodified checkout of a git tag that is a version, such as v1.2.0")
	}
	return provider.Version{}, fmt.Errorf("the commit has tags for %d versions: %s", len(d.Versions), provider.SomeVersions(d.Versions))
}

// ReadDirectory reads the module in a directory and checks that it can be parsed. It
// excludes version control directories, .terraform, state files, lock files, and the
// files that .terraformignore specifies. In a Git work tree, it also excludes untracked
// files, which can contain secrets. Modes and line endings come from Git's index, so
// that packages are identical on all systems. If a submodule or the content of a Git LFS
// file is missing, the error is [ErrNotCheckedOut].
//
// A link to a file or directory within dir is packed as a copy of its target.
// ReadDirectory rejects other links.
func ReadDirectory(ctx context.Context, dir string) (d Directory, err error) {
	root, err := filepath.EvalSymlinks(dir)
	if err == nil {
		root, err = filepath.Abs(root)
	}
	if err != nil {
		return d, err
	}
	// 1. Collect the files. Check the configuration concurrently.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	checked := make(chan error, 1)
	go func() { checked <- configuration.Check(ctx, root) }()
	r := reader{root: root, links: map[string]string{}}
	if r.ignored, err = readIgnoreRules(root); err != nil {
		return d, err
	}
	if r.tree, err = openWorkTree(ctx, root); err != nil {
		return d, err
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || path == root {
			return err
		}
		return r.add(path, entry)
	})
	if err != nil {
		return d, err
	}
	if err := r.checkSubmodules(); err != nil {
		return d, err
	}
	d.Untracked = r.untracked
	if d.Files, err = expandLinks(r.files, r.links); err != nil {
		return d, err
	}
	d.Files = slices.DeleteFunc(d.Files, func(f File) bool { return r.ignored.ignores(f.Path) })
	// 2. Wait for the check. A root without a configuration can contain modules.
	err = <-checked
	if errors.Is(err, configuration.ErrNoConfiguration) {
		err = checkNested(ctx, root, d.Files, err)
	} else if err == nil && !slices.ContainsFunc(d.Files, func(f File) bool { return path.Dir(f.Path) == "." && configuration.IsFile(f.Path) }) {
		err = provider.Errorf(provider.Misuse, "the package would be an empty module: %s or git excludes all configuration files in %s", ignoreName, root)
	}
	if err != nil {
		return d, err
	}
	// 3. Determine the commit and its versions.
	if r.tree.commit == "" || r.tree.modified {
		return d, nil
	}
	d.Revision = r.tree.commit
	tags, err := r.tree.tags(ctx)
	for _, tag := range tags {
		if v, err := provider.ParseVersion(strings.TrimPrefix(tag, "v")); err == nil {
			d.Versions = append(d.Versions, v)
		}
	}
	d.Versions = provider.NewestFirst(d.Versions)
	return d, err
}

// ErrNotCheckedOut is returned if a work tree lacks files that its commit refers to.
var ErrNotCheckedOut = provider.Errorf(provider.Refused, "the package would be incomplete")

// checkSubmodules returns an error if a submodule is missing, unless it is ignored.
func (r *reader) checkSubmodules() error {
	for _, name := range r.tree.missing {
		if !r.ignored.ignores(path.Join(name, "main.tf")) {
			return fmt.Errorf("%w: the submodule %s is not checked out", ErrNotCheckedOut, name)
		}
	}
	return nil
}

// checkNested checks that the modules in the "modules" directory can be parsed. If the
// directory contains no modules, checkNested returns an error that wraps absent.
func checkNested(ctx context.Context, root string, files []File, absent error) error {
	found := false
	for _, f := range files {
		dir := path.Dir(f.Path)
		if path.Dir(dir) != "modules" || !strings.HasSuffix(f.Path, "/main.tf") {
			continue
		}
		found = true
		if err := configuration.Check(ctx, filepath.Join(root, filepath.FromSlash(dir))); err != nil {
			return err
		}
	}
	if !found {
		return provider.Errorf(provider.Misuse, "%s contains no module: %w", root, absent)
	}
	return nil
}

// reader collects the files in a directory.
type reader struct {
	root      string
	ignored   ignoreRules
	tree      workTree
	files     []File
	untracked []string
	// links maps the paths of links to the paths to which they refer.
	links map[string]string
}

// add adds a file to the package, unless it is excluded.
func (r *reader) add(file string, entry fs.DirEntry) error {
	relative, err := filepath.Rel(r.root, file)
	if err != nil {
		return err
	}
	name := filepath.ToSlash(relative)
	if entry.IsDir() {
		if isNeverPacked(entry.Name()) || r.ignored.ignoresAll(name) {
			return filepath.SkipDir
		}
		return nil
	}
	if isNeverPacked(entry.Name()) || r.ignored.ignores(name) {
		return nil
	}
	if r.tree.isUntracked(name) {
		r.untracked = append(r.untracked, name)
		return nil
	}
	switch {
	case entry.Type() == fs.ModeSymlink:
		return r.addLink(name, file)
	case !entry.Type().IsRegular():
		return refused(name, "neither a file nor a link")
	case r.tree.files[name].isLink: // a checkout without support for links
		target, err := bounded.ReadFile(file, 4<<10)
		if err != nil {
			return err
		}
		return r.addLink(name, filepath.Join(filepath.Dir(file), filepath.FromSlash(string(target))))
	}
	return r.addFile(name, file)
}

// addLink adds a link. target is the path of the link or of its target.
func (r *reader) addLink(name, target string) error {
	target, err := filepath.EvalSymlinks(target)
	if err != nil {
		return refused(name, "broken link")
	}
	relative, err := filepath.Rel(r.root, target)
	if err != nil || !filepath.IsLocal(relative) {
		return refused(name, "link to a file outside the directory")
	}
	r.links[name] = filepath.ToSlash(relative)
	return nil
}

func refused(name, problem string) error {
	return provider.Errorf(provider.Refused, "packing %s: %s", name, problem)
}

// addFile adds a regular file. The mode and the line endings of tracked files come from
// Git's index.
func (r *reader) addFile(name, file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	f := File{
		Path: name, Executable: info.Mode()&0o111 != 0, Size: info.Size(),
		Open: func(context.Context) (io.ReadCloser, error) { return bounded.OpenFile(file) },
	}
	indexed, isTracked := r.tree.files[name]
	if isTracked {
		f.Executable = indexed.isExecutable
		if err := checkPointer(name, file, info.Size()); err != nil {
			return err
		}
	}
	if indexed.hasCRLF {
		content, err := bounded.ReadFile(file, maxBuffered)
		if err != nil {
			return err
		}
		content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
		f.Size = int64(len(content))
		f.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	}
	r.files = append(r.files, f)
	return nil
}

// checkPointer returns an error if a file is a Git LFS pointer, which is smaller than 1 KiB.
func checkPointer(name, file string, size int64) error {
	const limit = 1 << 10
	if size >= limit {
		return nil
	}
	content, err := bounded.ReadFile(file, limit)
	if err == nil && bytes.HasPrefix(content, []byte(git.LFSPrefix)) {
		err = fmt.Errorf("%w: %q is a Git LFS pointer", ErrNotCheckedOut, name)
	}
	return err
}
