package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	// maxEntries bounds the directory entries that are looked at for one template.
	maxEntries = 100_000
	// entriesAtOnce is how many are read in one go.
	entriesAtOnce = 1000
	// layoutFile marks an image layout:
	// https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md#oci-layout-file
	layoutFile = "oci-layout"
)

// layouts finds the image layouts that have a template's form.
func layouts(ctx context.Context, t template.Template) ([]template.Reference, error) {
	_, path, _ := strings.Cut(t.String(), ":")
	w := &walk{ctx: ctx, template: t}
	err := w.down("", elements(path))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", repository.ErrNoLayout, err)
	}
	if err != nil {
		return nil, fmt.Errorf("looking for image layouts of %s: %w", t.Redacted(), err)
	}
	return w.found, nil
}

// element is a directory of a template's path, with the separator behind it.
type element struct{ text, separator string }

// isLiteral tells whether the element is the same for all addresses.
func (e element) isLiteral() bool { return !strings.Contains(e.text, "{") }

// elements takes a path apart. No variable has a separator in it.
func elements(path string) []element {
	var all []element
	start := 0
	for i := range len(path) {
		if os.IsPathSeparator(path[i]) {
			all = append(all, element{path[start:i], path[i : i+1]})
			start = i + 1
		}
	}
	return append(all, element{text: path[start:]})
}

// walk looks for layouts in the directories that a template may name.
type walk struct {
	ctx      context.Context //nolint:containedctx // it is that of one call
	template template.Template
	found    []template.Reference
	// deep tells that a directory of a variable was reached: what cannot be read there
	// is somebody else's, such as lost+found.
	deep bool
	seen int
}

// down goes on from a directory, which is written as in the template.
func (w *walk) down(dir string, rest []element) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if len(rest) == 0 {
		w.take(dir)
		return nil
	}
	next := rest[0]
	if next.isLiteral() {
		return w.down(dir+next.text+next.separator, rest[1:])
	}
	names, err := w.directories(dir)
	if err != nil && w.deep && !errors.Is(err, errTooMany) {
		return nil // somebody else's
	}
	if err != nil {
		return err
	}
	w.deep = true
	for _, name := range names {
		if err := w.down(dir+name+next.separator, rest[1:]); err != nil {
			return err
		}
	}
	return nil
}

// take keeps a directory that is a layout of the template's form.
func (w *walk) take(dir string) {
	ref := template.Reference{Layout: dir}
	if _, fits := w.template.Match(ref); !fits {
		return
	}
	info, err := os.Stat(filepath.Join(filepath.FromSlash(dir), layoutFile))
	if err == nil && info.Mode().IsRegular() {
		w.found = append(w.found, ref)
	}
}

var errTooMany = fmt.Errorf("there are more than %d files and directories", maxEntries)

// directories lists those in a directory, links to some among them.
func (w *walk) directories(dir string) ([]string, error) {
	path := filepath.Clean(filepath.FromSlash(dir))
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	for {
		entries, err := f.ReadDir(entriesAtOnce)
		for _, e := range entries {
			if w.seen++; w.seen > maxEntries {
				return nil, errTooMany
			}
			if e.IsDir() || e.Type()&os.ModeSymlink != 0 && isDirectory(filepath.Join(path, e.Name())) {
				names = append(names, e.Name())
			}
		}
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return nil, err
		}
	}
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
