package cliconfig

import (
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// NoteKind is a stable identifier of what a note is about.
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

// Note is something that is not an error but that a user should know, such as
// what OpenTofu reads differently.
type Note struct {
	stricthcl.Position
	Kind NoteKind
	// Text is a sentence without its full stop.
	Text string
}

// String returns the note with its position in front.
func (n Note) String() string { return n.Position.String() + ": " + n.Text }

// after returns the position behind a text at a position.
func after(p stricthcl.Position, text string) stricthcl.Position {
	p.Line += strings.Count(text, "\n")
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		p.Column, text = 1, text[i+1:]
	}
	p.Column += len([]rune(text))
	return p
}
