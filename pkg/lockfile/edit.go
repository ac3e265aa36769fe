package lockfile

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// header returns the comment that OpenTofu or Terraform writes at the top of a lock file.
func (f *File) header() string {
	program := "tofu"
	if f.Terraform {
		program = "terraform"
	}
	return `# This file is maintained automatically by "` + program + ` init".` + f.lineEnd() +
		`# Manual edits may be lost in future updates.` + f.lineEnd()
}

// Set adds or changes the block for a provider. If the block already matches s, Set
// leaves the block unchanged. A changed block is formatted as in OpenTofu and keeps its
// comments, except comments on lines of removed hashes. New blocks are inserted in the
// order of addresses. The address must come from [provider.ParseAddress], and the
// hashes from [ParseHash].
func (f *File) Set(s Selection) {
	s = s.normal()
	i := f.find(s.Address)
	if i < 0 {
		f.insert(part{block: format(s, notes{}, f.lineEnd()), tail: f.lineEnd(), selection: s})
		return
	}
	p := &f.parts[i]
	if !p.selection.equal(s) {
		p.block = format(s, notesOf(p.block), f.lineEnd())
		p.selection = s
	}
}

// Remove removes the block for a provider, the comment directly above the block, and
// the blank line that separates them from other text. If the block doesn't exist,
// Remove does nothing.
func (f *File) Remove(a provider.Address) {
	i := f.find(a)
	if i < 0 {
		return
	}
	p := f.parts[i]
	after := &f.rest
	if i+1 < len(f.parts) {
		after = &f.parts[i+1].lead
	}
	lead, blank := cutBlankEnd(p.lead)
	switch {
	case i == 0 && strings.TrimPrefix(p.lead, bom) == "" && startsBlank(*after):
		_, *after, _ = strings.Cut(*after, "\n")
	case blank && (startsBlank(*after) || i+1 == len(f.parts) && *after == ""):
	default:
		lead = p.lead
	}
	*after = lead + *after
	f.parts = slices.Delete(f.parts, i, i+1)
}

// insert inserts a block before the first block with a greater address.
func (f *File) insert(p part) {
	i := slices.IndexFunc(f.parts, func(o part) bool { return o.selection.Address.Compare(p.selection.Address) > 0 })
	switch {
	case len(f.parts) == 0:
		f.insertOnly(p)
	case i == 0:
		p.lead = withBlankEnd(f.parts[0].lead, f.lineEnd())
		f.parts[0].lead = f.lineEnd()
		f.parts = slices.Insert(f.parts, 0, p)
	case i < 0:
		f.insertAfter(len(f.parts)-1, p, &f.rest)
	default:
		f.insertAfter(i-1, p, &f.parts[i].lead)
	}
}

// insertOnly appends a block to a file that has no blocks yet.
func (f *File) insertOnly(p part) {
	if start := strings.TrimPrefix(f.rest, bom); strings.TrimSpace(start) == "" {
		f.rest = strings.TrimSuffix(f.rest, start) + f.header()
	}
	p.lead = withBlankEnd(f.rest, f.lineEnd())
	f.rest = ""
	f.parts = []part{p}
}

// insertAfter inserts a block after block i. next is the text that follows block i.
func (f *File) insertAfter(i int, p part, next *string) {
	last := i == len(f.parts)-1
	if before := &f.parts[i]; !strings.HasSuffix(before.tail, "\n") {
		before.tail += f.lineEnd()
	}
	p.lead = f.lineEnd()
	if !startsBlank(*next) && (*next != "" || !last) {
		*next = f.lineEnd() + *next
	}
	f.parts = slices.Insert(f.parts, i+1, p)
}

// withBlankEnd adds a blank line to text that doesn't end with a blank line.
func withBlankEnd(text, newline string) string {
	if strings.TrimPrefix(text, bom) == "" {
		return text
	}
	if !strings.HasSuffix(text, "\n") {
		text += newline
	}
	if _, blank := cutBlankEnd(text); !blank {
		text += newline
	}
	return text
}

func startsBlank(text string) bool {
	line, _, found := strings.Cut(text, "\n")
	return found && strings.TrimSpace(line) == ""
}

// cutBlankEnd removes a blank line from the end of text.
func cutBlankEnd(text string) (string, bool) {
	line, found := strings.CutSuffix(text, "\n")
	if !found {
		return text, false
	}
	at := strings.LastIndexByte(line, '\n') + 1
	if strings.TrimSpace(line[at:]) != "" {
		return text, false
	}
	return text[:at], true
}
