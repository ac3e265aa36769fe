package lockfile

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// File is a parsed lock file with its complete text. The zero value is an empty file. A
// File is not safe for concurrent use.
type File struct {
	parts []part
	// rest is the text after the last part.
	rest string
	// newline is the line ending of the first line. If empty, "\n" is used.
	newline string
	// Terraform selects Terraform's header comment for new files.
	Terraform bool
}

// part is a provider block with the text between it and the previous part.
type part struct {
	// lead is the preceding text that doesn't belong to the block.
	lead string
	// own is the comment directly above the block, and the indentation of the block.
	own string
	// block is the text from "provider" to the closing brace.
	block string
	// tail is the rest of the line after the closing brace, including the line ending.
	tail      string
	selection Selection
}

// Selections returns the selections of all providers, sorted by address.
func (f *File) Selections() []Selection {
	all := make([]Selection, 0, len(f.parts))
	for _, p := range f.parts {
		all = append(all, p.selection.clone())
	}
	slices.SortFunc(all, func(a, b Selection) int { return a.Address.Compare(b.Address) })
	return all
}

// Selection returns the selection of a provider. ok is false if the file doesn't select
// the provider.
func (f *File) Selection(a provider.Address) (s Selection, ok bool) {
	i := f.find(a)
	if i < 0 {
		return Selection{}, false
	}
	return f.parts[i].selection.clone(), true
}

// Bytes returns the text of the file.
func (f *File) Bytes() []byte {
	var b strings.Builder
	for _, p := range f.parts {
		b.WriteString(p.lead + p.own + p.block + p.tail)
	}
	b.WriteString(f.rest)
	return []byte(b.String())
}

func (f *File) find(a provider.Address) int {
	return slices.IndexFunc(f.parts, func(p part) bool { return p.selection.Address == a })
}

// lineEnd returns the line ending for new lines.
func (f *File) lineEnd() string {
	if f.newline == "" {
		return "\n"
	}
	return f.newline
}
