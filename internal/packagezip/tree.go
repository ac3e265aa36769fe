package packagezip

import (
	"fmt"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// tree finds names that would be one on a disk that ignores case (Windows,
// macOS) or the way in which accents are encoded (macOS), and files that would
// have to be directories too.
type tree struct {
	fold  cases.Caser
	nodes map[place]*node
}

// place is where a node hangs. The parent's pointer stands for its whole path,
// so that a long name costs no more than its length.
type place struct {
	parent *node
	key    string
}

type node struct {
	// element is the name as it was first seen.
	element   string
	directory bool
	// listed: the archive has an entry for it, it is not only someone's parent.
	listed bool
}

func newTree() *tree {
	return &tree{fold: cases.Fold(), nodes: map[place]*node{}}
}

// check says what is wrong with an entry's name, by itself and beside those that
// came before it.
func (t *tree) check(name string) (problem string) {
	if problem := checkName(name); problem != "" {
		return problem
	}
	return t.add(name)
}

// add puts an entry's name into the tree and says what it collides with.
func (t *tree) add(name string) (problem string) {
	elements := splitName(name)
	var at *node
	for i, element := range elements {
		last := i == len(elements)-1
		directory := !last || strings.HasSuffix(name, "/")
		found := t.child(at, element, directory)
		switch {
		case found.element != element:
			return fmt.Sprintf("differs only in case or Unicode form from an entry with %q", found.element)
		case found.directory != directory:
			return fmt.Sprintf("needs %q to be both a file and a directory", strings.Join(elements[:i+1], "/"))
		case last && found.listed:
			return "is there twice"
		}
		found.listed = found.listed || last
		at = found
	}
	return ""
}

// child returns the node below parent that a disk could take for element.
func (t *tree) child(parent *node, element string, directory bool) *node {
	// Folding may take a text out of its normal form, hence once more.
	key := place{parent, norm.NFC.String(t.fold.String(norm.NFC.String(element)))}
	found, ok := t.nodes[key]
	if !ok {
		found = &node{element: element, directory: directory}
		t.nodes[key] = found
	}
	return found
}
