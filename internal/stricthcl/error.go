package stricthcl

import (
	"cmp"
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Position is a position in a file. The zero value means that the position is unknown.
type Position struct {
	File string
	// Line and Column start at 1. Columns are in characters. If only the file is known,
	// both are 0.
	Line, Column int
}

// PositionOf returns the start of a range.
func PositionOf(r hcl.Range) Position {
	return Position{File: r.Filename, Line: r.Start.Line, Column: r.Start.Column}
}

// String returns "file:line:column", or only the file.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Compare orders positions by file, line, and column.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Error describes a problem in a file, and its position. Its kind is
// [provider.Malformed].
type Error struct {
	Position
	// Problem describes the problem. It has no final period.
	Problem string
	// Err is the file system error, if any.
	Err error
}

func (e *Error) Error() string { return e.Position.String() + ": " + e.Problem }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Kind returns [provider.Malformed].
func (e *Error) Kind() provider.ErrorKind { return provider.Malformed }

// Wrong returns an *[Error] for a problem in a range.
func Wrong(at hcl.Range, format string, args ...any) error {
	return &Error{Position: PositionOf(at), Problem: fmt.Sprintf(format, args...)}
}
