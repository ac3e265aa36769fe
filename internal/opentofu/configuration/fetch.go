package configuration

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// fetch fetches a module with [Options.Fetch] and returns the module's place. If the
// module isn't available, it returns false.
func (w *walker) fetch(ctx context.Context, c call, to place) (place, bool) {
	call := Call{Address: to.address, Source: c.source, Version: c.version, Position: c.at}
	if c.unresolved != nil {
		call.IsUnresolved, call.Reason = true, c.unresolved.Error()
		w.unread = append(w.unread, call)
		return to, false
	}
	found, err := w.options.Fetch(ctx, call)
	if err != nil {
		w.fetchError = fmt.Errorf("%s: fetching %s: %w", c.at, to.address, err)
		return to, false
	}
	if found.Dir == "" {
		return to, false
	}
	subdir := filepath.FromSlash(path.Clean(found.Subdir))
	if !filepath.IsLocal(subdir) {
		w.add(c.at, "the source of %s is outside its package", to.address)
		return to, false
	}
	if !slices.ContainsFunc(w.packages, func(p Package) bool { return p.Dir == found.Dir }) {
		w.packages = append(w.packages, found)
	}
	to.dir, to.packageDir = filepath.Join(found.Dir, subdir), found.Dir
	return to, true
}

// shown returns a path as it appears in messages, with the directory of a fetched
// package replaced by the package's name.
func (r *reader) shown(path string) string {
	for _, p := range r.packages {
		if rel, ok := strings.CutPrefix(path, p.Dir); ok && (rel == "" || os.IsPathSeparator(rel[0])) {
			return p.Name + strings.Replace(filepath.ToSlash(rel), "/", "//", 1)
		}
	}
	return path
}

// path formats a chain of module calls for a message. dirs contains the modules'
// directories.
func (r *reader) path(dirs []string) string {
	var all []string
	for _, dir := range dirs {
		all = append(all, r.shown(dir))
	}
	return strings.Join(all, " → ")
}
