package packagezip

import (
	"fmt"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// tree detects names that belong to both a file and a directory, and names that are
// equal on some file systems. Windows and macOS ignore case, and macOS ignores the
// encoding of accents.
type tree struct {
	fold  cases.Caser
	nodes map[nodeKey]*node
}

// nodeKey is the key of a node. It contains a pointer to the parent, so that memory use
// is proportional to the total length of the names.
type nodeKey struct {
	parent *node
	key    string
}

type node struct {
	// element is the first spelling of the name.
	element   string
	directory bool
	// listed is set if the archive has an entry for the node itself instead of only for
	// its descendants.
	listed bool
}

func newTree() *tree {
	return &tree{fold: cases.Fold(), nodes: map[nodeKey]*node{}}
}

// check returns a problem with an entry's name, or an empty string. Names can be
// invalid by themselves or collide with earlier names.
func (t *tree) check(name string) (problem string) {
	if problem := checkName(name); problem != "" {
		return problem
	}
	return t.add(name)
}

// add adds an entry's name. It returns a description of a collision, or an empty
// string.
func (t *tree) add(name string) (problem string) {
	elements := splitName(name)
	var at *node
	for i, element := range elements {
		last := i == len(elements)-1
		directory := !last || strings.HasSuffix(name, "/")
		found := t.child(at, element, directory)
		switch {
		case found.element != element:
			return fmt.Sprintf("differs from an entry with %q only in case or Unicode normalization", found.element)
		case found.directory != directory:
			return fmt.Sprintf("requires %q to be both a file and a directory", strings.Join(elements[:i+1], "/"))
		case last && found.listed:
			return "is duplicated"
		case t.completesRepository(at, element):
			return "completes a Git repository, so Git could run programs from the archive"
		}
		found.listed = found.listed || last
		at = found
	}
	return ""
}

// completesRepository reports whether an element completes a directory that git would
// use as a bare repository. Such a directory contains HEAD, and either the objects or a
// file that refers to them.
func (t *tree) completesRepository(dir *node, element string) bool {
	switch strings.ToLower(element) {
	case "head", "objects", "refs", "commondir":
	default:
		return false
	}
	has := func(name string) bool { return t.nodes[nodeKey{dir, name}] != nil }
	return has("head") && (has("objects") && has("refs") || has("commondir"))
}

// child returns the parent's child that some file systems consider equal to element.
func (t *tree) child(parent *node, element string, directory bool) *node {
	// Folding can produce strings that are not normalized, so the result is normalized
	// again.
	key := nodeKey{parent, norm.NFC.String(t.fold.String(norm.NFC.String(element)))}
	found, ok := t.nodes[key]
	if !ok {
		found = &node{element: element, directory: directory}
		t.nodes[key] = found
	}
	return found
}
