package lockfile

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// File is what a lock file says, with all of its text. The zero value is an empty
// one. It is not safe for concurrent use.
type File struct {
	parts []part
	// rest is the text after the last part.
	rest string
	// newline is "\r\n" in a file that has such lines.
	newline string
	// Terraform starts an empty file with the line that Terraform writes.
	Terraform bool
}

// part is a provider's block, and the text before it, as far as that is not
// another's part.
type part struct {
	// lead is text that belongs to no provider's block.
	lead string
	// own is the comment directly above the block, and the block's indentation.
	own string
	// block is the text from "provider" to the brace that closes it.
	block string
	// tail is what follows on the same line, with the line's end.
	tail      string
	selection Selection
}

// Selections are those of all providers, sorted by address.
func (f *File) Selections() []Selection {
	all := make([]Selection, 0, len(f.parts))
	for _, p := range f.parts {
		all = append(all, p.selection.clone())
	}
	slices.SortFunc(all, func(a, b Selection) int { return a.Address.Compare(b.Address) })
	return all
}

// Selection is that of one provider; ok is false when the file has none.
func (f *File) Selection(a provider.Address) (s Selection, ok bool) {
	i := f.find(a)
	if i < 0 {
		return Selection{}, false
	}
	return f.parts[i].selection.clone(), true
}

// Bytes returns the file's text.
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

// lineEnd is what new lines end with.
func (f *File) lineEnd() string {
	if f.newline == "" {
		return "\n"
	}
	return f.newline
}
