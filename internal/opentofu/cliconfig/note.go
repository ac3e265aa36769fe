package cliconfig

import (
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// NoteKind is a stable identifier for a kind of note.
type NoteKind string

// The kinds of notes.
const (
	NoteMissing    NoteKind = "config-missing"
	NoteUnreadable NoteKind = "config-unreadable"
	NoteCacheDir   NoteKind = "plugin-cache-missing"
	NoteDraft      NoteKind = "draft-syntax"
	NoteIgnored    NoteKind = "argument-ignored"
	NoteObjects    NoteKind = "json-objects"
	NoteAmbiguous  NoteKind = "template-ambiguous"
	NoteLabel      NoteKind = "login-label"
)

// Note is a problem that is not an error, such as a setting that OpenTofu ignores.
type Note struct {
	stricthcl.Position
	Kind NoteKind
	// Text is a sentence without a final period.
	Text string
}

// String returns the note with its position.
func (n Note) String() string { return n.Position.String() + ": " + n.Text }

// after returns the position after the given text, which starts at p.
func after(p stricthcl.Position, text string) stricthcl.Position {
	p.Line += strings.Count(text, "\n")
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		p.Column, text = 1, text[i+1:]
	}
	p.Column += len([]rune(text))
	return p
}
