package configuration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// ErrNoConfiguration says that a directory has no configuration files.
var ErrNoConfiguration = errors.New("there is no configuration")

// Position is a place in a file. Positions are comparable by ==.
type Position struct {
	File string
	// Line and Column count from 1, the columns characters. They are 0 where
	// only the file is known.
	Line, Column int
}

// String gives "file:line:column", or the file alone.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

func (p Position) compare(q Position) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Error says what is wrong with a configuration, and where. Several are joined:
// see [errors.Join].
type Error struct {
	Position Position
	// Problem is a sentence without its full stop.
	Problem string
	err     error
}

func (e *Error) Error() string { return e.Position.String() + ": " + e.Problem }

// Unwrap gives the error of the file system, where there was one.
func (e *Error) Unwrap() error { return e.err }

// maxProblems bounds what is said of one configuration. Who has that many wants
// to see the first.
const maxProblems = 20

// problems collects what is wrong.
type problems struct{ all []*Error }

func (p *problems) add(at Position, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	p.all = append(p.all, &Error{Position: at, Problem: err.Error(), err: errors.Unwrap(err)})
}

// diagnostics adds what HCL says, and tells whether there was an error.
func (p *problems) diagnostics(file string, found hcl.Diagnostics) bool {
	for _, d := range found {
		if d.Severity != hcl.DiagError {
			continue
		}
		at := Position{File: file}
		if d.Subject != nil {
			at = position(*d.Subject)
		}
		problem := d.Summary
		if d.Detail != "" {
			problem += ": " + stricthcl.InLines(at.File, d.Detail)
		}
		p.add(at, "%s", strings.TrimSuffix(problem, "."))
	}
	return found.HasErrors()
}

// error gives all problems as one error, nil when there are none. A context that
// ended goes first.
func (p *problems) error(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	all := slices.Clone(p.all)
	slices.SortStableFunc(all, func(a, b *Error) int { return a.Position.compare(b.Position) })
	errs := make([]error, 0, min(len(all), maxProblems)+1)
	for i, e := range all {
		if i == maxProblems {
			errs = append(errs, fmt.Errorf("and %d more", len(all)-i))
			break
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// position is where a range starts.
func position(r hcl.Range) Position {
	return Position{File: r.Filename, Line: r.Start.Line, Column: r.Start.Column}
}
