package stricthcl

import (
	"cmp"
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Position is a place in a file. The zero value is no place.
type Position struct {
	File string
	// Line and Column count from 1, columns in characters. They are 0 if only the file
	// is known.
	Line, Column int
}

// PositionOf returns the start of a range.
func PositionOf(r hcl.Range) Position {
	return Position{File: r.Filename, Line: r.Start.Line, Column: r.Start.Column}
}

// String returns "file:line:column", or the file alone.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Compare orders positions by file, line and column.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Error describes a problem in a file, and its position. Its kind is
// [provider.Malformed].
type Error struct {
	Position
	// Problem is a sentence without its full stop.
	Problem string
	// Err is the error of the file system, if that is the problem.
	Err error
}

func (e *Error) Error() string { return e.Position.String() + ": " + e.Problem }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Kind returns [provider.Malformed].
func (e *Error) Kind() provider.ErrorKind { return provider.Malformed }

// Wrong returns an *[Error] about a range.
func Wrong(at hcl.Range, format string, args ...any) error {
	return &Error{Position: PositionOf(at), Problem: fmt.Sprintf(format, args...)}
}
