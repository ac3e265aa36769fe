package cliconfig

import (
	"fmt"
	"strings"
)

// Position is a place in a file. Positions are comparable by ==; the zero value
// is none.
type Position struct {
	File string
	// Line and Column count from 1, the columns characters. They are 0 where
	// only the file is known.
	Line, Column int
}

// String gives "file:line:column", or less where less is known.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// after moves the position past text.
func (p Position) after(text string) Position {
	p.Line += strings.Count(text, "\n")
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		p.Column, text = 1, text[i+1:]
	}
	p.Column += len([]rune(text))
	return p
}

// SyntaxError says what is wrong with a file, and where.
type SyntaxError struct {
	Position
	// Problem is a sentence without its full stop.
	Problem string
}

func (e *SyntaxError) Error() string { return e.Position.String() + ": " + e.Problem }

// NoteKind tells what a note is about, in a word that stays the same.
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

// Note is something that is no error and that a user should know, such as what
// OpenTofu would read otherwise.
type Note struct {
	Position
	Kind NoteKind
	// Text is a sentence without its full stop.
	Text string
}

// String gives the note with its position in front.
func (n Note) String() string { return n.Position.String() + ": " + n.Text }
