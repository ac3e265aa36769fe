// Package nesting looks at a text before a parser does that recurses into what
// is nested: some kilobytes of brackets would exhaust its stack, or keep it busy
// for minutes. It reads tokens one after the other, as the parser itself would.
package nesting

import (
	"fmt"

	"github.com/hashicorp/hcl/hcl/scanner"
	"github.com/hashicorp/hcl/hcl/token"
	jsonscanner "github.com/hashicorp/hcl/json/scanner"
	jsontoken "github.com/hashicorp/hcl/json/token"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	// maxDepth bounds brackets within brackets. What people write has some five.
	maxDepth = 64
	// maxOpened bounds the brackets of a text of HCL 1, since its decoder compares
	// each block with each other.
	maxOpened = 1024
	// maxOperators bounds the operators of a text of HCL 2, which nest without
	// brackets: !!!!x. Lock files have none.
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
		return &Error{line, column, fmt.Sprintf("brackets are nested deeper than %d", maxDepth)}
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

// HCL2 checks a text in HCL 2's native syntax: brackets, templates, and
// operators. It needs up to 300 bytes of memory for each byte of the text, as the
// parser does, so bound that first.
func HCL2(data []byte) error {
	tokens, _ := hclsyntax.LexConfig(data, "", hcl.InitialPos)
	depth, operators := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd:
			depth--
		case hclsyntax.TokenIdent, hclsyntax.TokenEqual, hclsyntax.TokenComma, hclsyntax.TokenNewline, hclsyntax.TokenComment, hclsyntax.TokenNumberLit,
			hclsyntax.TokenOQuote, hclsyntax.TokenCQuote, hclsyntax.TokenQuotedLit, hclsyntax.TokenOHeredoc, hclsyntax.TokenCHeredoc, hclsyntax.TokenStringLit:
		default:
			operators++
		}
		switch {
		case depth > maxDepth:
			return &Error{t.Range.Start.Line, t.Range.Start.Column, fmt.Sprintf("brackets are nested deeper than %d", maxDepth)}
		case operators > maxOperators:
			return &Error{t.Range.Start.Line, t.Range.Start.Column, fmt.Sprintf("there are more than %d operators", maxOperators)}
		}
	}
	return nil
}
