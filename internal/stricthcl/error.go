package stricthcl

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// maxListed is the maximum number of problems that the text of an error lists.
const maxListed = 20

// Join returns an error for all problems in a file, or nil if all errors are nil. The
// problems are in the order of the file. The text has a line for each of the first 20
// problems. If there is only one problem, Join returns it unchanged.
func Join(errs ...error) error {
	var all problems
	for _, err := range errs {
		if joined, ok := errors.AsType[problems](err); ok {
			all = append(all, joined...)
		} else if err != nil {
			all = append(all, err)
		}
	}
	if len(all) < 2 {
		return cmp.Or(append(all, nil)...)
	}
	slices.SortStableFunc(all, func(a, b error) int { return positionIn(a).Compare(positionIn(b)) })
	return all
}

// problems is a list of at least two problems in a file.
type problems []error

func (p problems) Error() string {
	var lines []string
	for _, err := range p[:min(len(p), maxListed)] {
		lines = append(lines, err.Error())
	}
	if more := len(p) - maxListed; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns all problems.
func (p problems) Unwrap() []error { return p }

// positionIn returns the position of a problem, or the zero value.
func positionIn(err error) Position {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Position
	}
	return Position{}
}

// Errorf returns an *[Error] for a problem in a range.
func Errorf(at hcl.Range, format string, args ...any) error {
	return &Error{Position: PositionOf(at), Problem: fmt.Sprintf(format, args...)}
}
