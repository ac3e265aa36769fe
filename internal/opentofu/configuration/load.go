package configuration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxDepth limits the depth of module calls.
	maxDepth = 64
	// maxCalls limits the total number of module calls. If each module contains two
	// calls, twenty levels of modules contain a million calls.
	maxCalls = 20_000
)

// Load reads the requirements of the module in a directory, and of all available
// modules that it calls. It returns joined errors of type *[stricthcl.Error],
// [ErrNoConfiguration], or file system errors. If ctx is canceled, Load returns
// immediately, even while it parses a file.
func Load(ctx context.Context, dir string, o Options) (Configuration, error) {
	return await(ctx, func() (Configuration, error) { return load(ctx, dir, o) })
}

// await returns the results of f. If ctx is canceled first, await returns the cause,
// and f continues in the background.
func await[T any](ctx context.Context, f func() (T, error)) (value T, err error) {
	done := make(chan struct{})
	var result T
	var failed error
	go func() {
		defer close(done)
		result, failed = f()
	}()
	select {
	case <-ctx.Done():
		return value, context.Cause(ctx)
	case <-done:
		return result, failed
	}
}

// Check checks the module in a directory and the local modules that it calls, without
// collecting their requirements. It returns the same errors as [Load].
func Check(ctx context.Context, dir string) error {
	_, err := await(ctx, func() (Configuration, error) { return load(ctx, dir, Options{skipPlain: true}) })
	return err
}

func load(ctx context.Context, dir string, o Options) (Configuration, error) {
	// 1. Read the root module and its tests.
	dir = filepath.Clean(dir)
	found, err := list(dir, o.Terraform)
	if err != nil {
		return Configuration{}, fmt.Errorf("reading the configuration: %w", err)
	}
	if len(found.primary)+len(found.override) == 0 {
		return Configuration{}, fmt.Errorf("reading the configuration: %w in %s", ErrNoConfiguration, dir)
	}
	p := &problems{}
	w := &walker{reader: reader{problems: p, options: o}, modules: map[string]*module{}, required: map[provider.Address][]constraint{}, collected: map[string]bool{}}
	if w.installed = (installed{root: dir}); o.Fetch == nil {
		w.installed = w.readInstalled(dir)
	}
	root := w.module(ctx, dir, found)
	root.tests = w.tests(ctx, dir, found.tests)
	w.modules[dir] = root

	// 2. Read the modules that the root module and its tests call.
	w.visit(ctx, root, place{dir: dir, above: []string{dir}, scope: w.rootScope(ctx, dir, root)})

	// 3. Collect the requirements.
	c := Configuration{Required: w.requirements(), Unread: w.unread}
	if err := cmp.Or(w.fetchError, p.error(ctx)); err != nil {
		return Configuration{}, err
	}
	return c, nil
}

// walker visits the modules.
type walker struct {
	reader
	installed installed
	// modules maps directories to the modules read so far.
	modules map[string]*module
	// required maps providers to their constraints. collected contains the directories
	// whose requirements were added.
	required  map[provider.Address][]constraint
	collected map[string]bool
	unread    []Call
	calls     int
	// fetchError is the error from Options.Fetch. After an error, no other modules are
	// visited.
	fetchError error
}

// place is the position of a module in the call tree.
type place struct {
	dir string
	// packageDir is the directory of the package that contains the module. It is empty
	// for the root module and its local modules.
	packageDir string
	// key is the path of module calls, and address is the form of this path in
	// messages.
	key, address string
	// above contains the directories of all callers and of the module itself.
	above []string
	// scope resolves references in the module's expressions.
	scope *scope
}

// visit collects a module's requirements and visits the modules that it calls.
func (w *walker) visit(ctx context.Context, m *module, at place) {
	w.collect(m, at.dir)
	for _, name := range slices.Sorted(maps.Keys(m.calls)) {
		w.follow(ctx, at, m.calls[name], at.below(name))
	}
	for _, t := range m.tests {
		for _, run := range slices.Sorted(maps.Keys(t.runs)) {
			// Test files can set variables in ways that this package doesn't evaluate.
			to := place{key: t.key + "." + run, address: "run." + run, scope: &scope{unknown: true}}
			w.follow(ctx, at, t.runs[run], to)
		}
	}
}

func (p place) below(name string) place {
	return place{key: strings.TrimPrefix(p.key+"."+name, "."), address: strings.TrimPrefix(p.address+".module."+name, "."), scope: &scope{caller: p.scope}}
}

// follow reads and visits a called module.
func (w *walker) follow(ctx context.Context, from place, c call, to place) {
	if ctx.Err() != nil || w.calls > maxCalls || w.fetchError != nil {
		return
	}
	if w.calls++; w.calls > maxCalls {
		w.add(c.at, "the configuration calls more than %d modules", maxCalls)
		return
	}
	c = w.resolve(c, from.scope)
	to, ok := w.locate(ctx, from, c, to)
	if !ok {
		return
	}
	switch {
	case slices.Contains(from.above, to.dir):
		w.add(c.at, "the module calls itself: %s", w.path(append(from.above, to.dir)))
		return
	case len(from.above) >= maxDepth:
		w.add(c.at, "modules are nested more than %d levels deep", maxDepth)
		return
	}
	m, read := w.modules[to.dir]
	if !read {
		found, err := list(to.dir, w.options.Terraform)
		if err != nil {
			w.unreadable(c, to, err)
		}
		m = w.module(ctx, to.dir, found)
		w.modules[to.dir] = m
	}
	to.above = append(slices.Clone(from.above), to.dir)
	to.scope.module, to.scope.arguments = m, c.arguments
	w.visit(ctx, m, to)
}

// locate returns the directory of a called module.
func (w *walker) locate(ctx context.Context, from place, c call, to place) (place, bool) {
	if path, ok := local(c.source); ok {
		return w.locateLocal(from, c, to, path)
	}
	if w.options.Fetch != nil {
		return w.fetch(ctx, c, to)
	}
	rec, reason := w.installed.find(to.key, c)
	if path, ok := local(rec.Source); ok && c.source == "" {
		return w.locateLocal(from, c, to, path)
	}
	if reason == "" {
		var inside bool
		if to.dir, to.packageDir, inside = w.installed.dir(rec); !inside {
			w.add(c.at, "%s is installed in %q, which is not below %s", to.address, rec.Dir, w.installed.modules)
			return to, false
		}
		if _, err := os.Stat(to.dir); err == nil {
			return to, true
		}
		reason = "the directory of the installed module does not exist"
	}
	if c.unresolved != nil {
		reason = c.unresolved.Error() + ", and " + reason
	}
	w.unread = append(w.unread, Call{Address: to.address, Source: c.source, Version: c.version, IsUnresolved: c.unresolved != nil, Position: c.at, Reason: reason})
	return to, false
}

// locateLocal returns the directory of a module that is local to its caller.
func (w *walker) locateLocal(from place, c call, to place, path string) (place, bool) {
	to.packageDir, to.dir = from.packageDir, filepath.Join(from.dir, filepath.FromSlash(path))
	base, inside := w.installed.root, true
	if to.packageDir != "" {
		base = to.packageDir
		_, inside = relative(base, to.dir)
	}
	if inside {
		dir, still, err := followed(base, to.dir)
		if err != nil {
			w.unreadable(c, to, err)
			return to, false
		}
		to.dir, inside = dir, still || to.packageDir == ""
	}
	if !inside {
		w.add(c.at, "the source of %s is outside its caller's package", to.address)
	}
	return to, inside
}

// followed resolves the symbolic links in a path to a directory, because the sources of
// local modules are relative to the links' targets. If the directory is inside base,
// inside is true, and the result starts with base, even if base itself is a link.
func followed(base, dir string) (path string, inside bool, err error) {
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", false, err
	}
	resolved, err := filepath.EvalSymlinks(base)
	if err != nil {
		return "", false, err
	}
	if rel, ok := relative(resolved, dir); ok {
		return filepath.Join(base, rel), true, nil
	}
	return dir, false, nil
}

func (w *walker) unreadable(c call, to place, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		w.add(c.at, "the directory of %s does not exist: %s", to.address, w.shown(to.dir))
		return
	}
	w.add(c.at, "reading %s in %s: %w", to.address, w.shown(to.dir), bare(err))
}
