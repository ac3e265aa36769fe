// Package nesting checks a text before it is passed to a parser of HCL. A few
// kilobytes of brackets exhaust the stack of such a parser or keep it busy for
// minutes, and it needs hundreds of bytes of memory for each token.
package nesting

import (
	"fmt"

	"github.com/hashicorp/hcl/hcl/scanner"
	"github.com/hashicorp/hcl/hcl/token"
	jsonscanner "github.com/hashicorp/hcl/json/scanner"
	jsontoken "github.com/hashicorp/hcl/json/token"
)

const (
	// maxDepth bounds brackets within brackets. What people write has some five.
	maxDepth = 64
	// maxOpened bounds the brackets of a text of HCL 1, since its decoder compares
	// each block with each other.
	maxOpened = 1024
	// maxOperators bounds the operators of an expression of HCL 2, which nest
	// without brackets: !!!!x. What people write has some ten.
	maxOperators = 256
)

// Error says where a text is nested too deeply, or has too much.
type Error struct {
	// Line and Column count from 1.
	Line, Column int
	// Problem is a sentence without its full stop.
	Problem string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Problem) }

// counter follows brackets.
type counter struct{ depth, opened int }

func (c *counter) open(line, column int) error {
	c.depth++
	c.opened++
	switch {
	case c.depth > maxDepth:
		return &Error{line, column, tooDeep}
	case c.opened > maxOpened:
		return &Error{line, column, fmt.Sprintf("there are more than %d blocks and lists", maxOpened)}
	}
	return nil
}

// Native checks a text in HCL 1's native syntax. Errors are *[Error]; what is no
// HCL is left to the parser.
func Native(data []byte) error {
	s := scanner.New(data)
	s.Error = func(token.Pos, string) {}
	var c counter
	for {
		switch t := s.Scan(); t.Type {
		case token.EOF:
			return nil
		case token.LBRACE, token.LBRACK:
			if err := c.open(t.Pos.Line, t.Pos.Column); err != nil {
				return err
			}
		case token.RBRACE, token.RBRACK:
			c.depth--
		}
	}
}

// JSON checks a text in HCL 1's JSON syntax, as [Native] does.
func JSON(data []byte) error {
	s := jsonscanner.New(data)
	s.Error = func(jsontoken.Pos, string) {}
	var c counter
	for {
		switch t := s.Scan(); t.Type {
		case jsontoken.EOF:
			return nil
		case jsontoken.LBRACE, jsontoken.LBRACK:
			if err := c.open(t.Pos.Line, t.Pos.Column); err != nil {
				return err
			}
		case jsontoken.RBRACE, jsontoken.RBRACK:
			c.depth--
		}
	}
}
