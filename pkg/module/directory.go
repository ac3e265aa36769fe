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
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Directory describes the module in a directory.
type Directory struct {
	// Files contains the files of the package, sorted by path.
	Files []File
	// Untracked contains the paths of files that git doesn't track. It is empty outside
	// of git work trees.
	Untracked []string
	// Revision is the git commit, or empty if tracked files differ from the commit or
	// the directory is not in a git work tree.
	Revision string
	// Versions contains the versions in the tags of the commit, newest first.
	Versions []provider.Version
}

// Version returns the version in the tag of the commit. It returns an error if the commit
// has no such tag, or tags of several versions.
func (d Directory) Version() (provider.Version, error) {
	switch len(d.Versions) {
	case 1:
		return d.Versions[0], nil
	case 0:
		return provider.Version{}, errors.New("the directory is not an unmodified checkout of a git tag with a version, such as v1.2.0")
	}
	return provider.Version{}, fmt.Errorf("the commit has the tags of %d versions: %s", len(d.Versions), provider.SomeVersions(d.Versions))
}

// ReadDirectory reads the module in a directory and checks that it can be parsed. It
// excludes version control, .terraform, states, lock files, and the files that
// .terraformignore specifies. In a Git work tree, modes and line endings come from
// Git's index, so that packages are identical on all systems.
//
// Links to files and directories in the directory are packed as copies. All other links
// are refused.
func ReadDirectory(ctx context.Context, dir string) (d Directory, err error) {
	root, err := filepath.EvalSymlinks(dir)
	if err == nil {
		root, err = filepath.Abs(root)
	}
	if err != nil {
		return d, err
	}
	// 1. The files.
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
	d.Untracked = r.untracked
	if d.Files, err = r.expandLinks(); err != nil {
		return d, err
	}
	// 2. The configuration.
	if err := checkConfiguration(ctx, root, d.Files); err != nil {
		return d, err
	}
	// 3. The commit.
	if r.tree == nil || r.tree.modified {
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

// checkConfiguration checks that the module can be parsed. If the root has no
// configuration, it checks the modules in its directory "modules".
func checkConfiguration(ctx context.Context, root string, files []File) error {
	err := configuration.Check(ctx, root)
	if !errors.Is(err, configuration.ErrNoConfiguration) {
		return err
	}
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
		return provider.Errorf(provider.Misuse, "%s contains no module: %w", root, err)
	}
	return nil
}

// reader collects the files of a directory.
type reader struct {
	root    string
	ignored ignoreRules
	// tree is nil outside of git work trees.
	tree      *workTree
	files     []File
	untracked []string
	// links maps the paths of links to the directories to which they refer.
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
	var indexed indexEntry
	if r.tree != nil {
		var tracked bool
		if indexed, tracked = r.tree.files[name]; !tracked {
			r.untracked = append(r.untracked, name)
		} else if indexed.isLink && entry.Type().IsRegular() { // a checkout without support for links
			return r.addLink(name, func() (string, error) {
				target, err := bounded.ReadFile(file, 4<<10)
				return filepath.Join(filepath.Dir(file), filepath.FromSlash(string(target))), err
			})
		}
		if tracked && entry.Type().IsRegular() {
			return r.addTracked(name, file, indexed)
		}
	}
	switch entry.Type() {
	case 0:
		return r.addFile(name, file)
	case fs.ModeSymlink:
		return r.addLink(name, func() (string, error) { return file, nil })
	}
	return refused(name, "neither a file nor a link")
}

// addLink adds the target of a link as a file.
func (r *reader) addLink(name string, find func() (string, error)) error {
	target, err := find()
	if err == nil {
		target, err = filepath.EvalSymlinks(target)
	}
	if err != nil {
		return refused(name, "broken link")
	}
	relative, err := filepath.Rel(r.root, target)
	if err != nil || !filepath.IsLocal(relative) {
		return refused(name, "link to a file outside of the directory")
	}
	inPackage := filepath.ToSlash(relative)
	if slices.ContainsFunc(strings.Split(inPackage, "/"), isNeverPacked) || r.ignored.ignores(inPackage) {
		return refused(name, "link to an excluded file")
	}
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir() && !r.ignored.ignoresAll(inPackage):
		r.links[name] = inPackage
		return nil
	case err != nil || !info.Mode().IsRegular():
		return refused(name, "link to neither a file nor a packed directory")
	}
	if r.tree != nil {
		if indexed, tracked := r.tree.files[inPackage]; tracked {
			return r.addTracked(name, target, indexed)
		}
	}
	return r.addFile(name, target)
}

// expandLinks returns all files, including copies of the files in directories to which
// links refer.
func (r *reader) expandLinks() ([]File, error) {
	if len(r.links) == 0 {
		return r.files, nil
	}
	files, err := expandLinks(r.files, r.links)
	return slices.DeleteFunc(files, func(f File) bool { return r.ignored.ignores(f.Path) }), err
}

func refused(name, problem string) error {
	return provider.Errorf(provider.Refused, "packing %s: %s", name, problem)
}

// addTracked adds a file with the mode and the line endings from Git's index.
func (r *reader) addTracked(name, file string, indexed indexEntry) error {
	if err := r.addFile(name, file); err != nil {
		return err
	}
	f := &r.files[len(r.files)-1]
	f.Executable = indexed.isExecutable
	if !indexed.hasCRLF {
		return nil
	}
	content, err := bounded.ReadFile(file, maxBuffered)
	if err != nil {
		return err
	}
	content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	f.Size = int64(len(content))
	f.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	return nil
}

// addFile adds a regular file.
func (r *reader) addFile(name, file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	r.files = append(r.files, File{
		Path: name, Executable: info.Mode()&0o111 != 0, Size: info.Size(),
		Open: func(context.Context) (io.ReadCloser, error) { return bounded.OpenFile(file) },
	})
	return nil
}
