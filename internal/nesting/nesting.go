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

// HCL2 checks a text in HCL 2's native syntax: brackets, templates, and the
// operators of an expression. It needs up to 300 bytes of memory for each byte of
// the text, as the parser does, so bound that first.
func HCL2(data []byte) error {
	tokens, _ := hclsyntax.LexConfig(data, "", hcl.InitialPos)
	// open has an entry for the text itself and one for each bracket that is open.
	open := []expression{{lines: true}}
	for _, t := range tokens {
		last := &open[len(open)-1]
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateControl:
			last.operators++ // a[0][0], and %{if} without an end, nest as operators do
			open = append(open, expression{lines: t.Type == hclsyntax.TokenOBrace})
		case hclsyntax.TokenTemplateInterp:
			open = append(open, expression{})
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd:
			open = open[:max(len(open)-1, 1)]
		case hclsyntax.TokenComma:
			last.operators = 0
		case hclsyntax.TokenNewline:
			if last.lines {
				last.operators = 0
			}
		case hclsyntax.TokenIdent, hclsyntax.TokenEqual, hclsyntax.TokenComment, hclsyntax.TokenNumberLit,
			hclsyntax.TokenOQuote, hclsyntax.TokenCQuote, hclsyntax.TokenQuotedLit, hclsyntax.TokenOHeredoc, hclsyntax.TokenCHeredoc, hclsyntax.TokenStringLit:
		default:
			last.operators++
		}
		switch {
		case len(open)-1 > maxDepth:
			return &Error{t.Range.Start.Line, t.Range.Start.Column, fmt.Sprintf("brackets are nested deeper than %d", maxDepth)}
		case last.operators > maxOperators:
			return &Error{t.Range.Start.Line, t.Range.Start.Column, fmt.Sprintf("there are more than %d operators", maxOperators)}
		}
	}
	return nil
}

// expression counts the operators since the last comma or, where lines end
// expressions, the last line.
type expression struct {
	operators int
	lines     bool
}

// HCL2JSON checks a text in HCL 2's JSON syntax, which has as many objects as it
// likes.
func HCL2JSON(data []byte) error {
	depth, line, start, quoted := 0, 1, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\n':
			line, start = line+1, i+1
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '{' || c == '['):
			if depth++; depth > maxDepth {
				return &Error{line, i - start + 1, fmt.Sprintf("brackets are nested deeper than %d", maxDepth)}
			}
		case !quoted && (c == '}' || c == ']'):
			depth--
		}
	}
	return nil
}
