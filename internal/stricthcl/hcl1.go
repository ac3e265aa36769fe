package stricthcl

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

// CheckHCL1 checks the depth and the number of brackets of a text in HCL 1's native
// syntax or, if isJSON, in its JSON syntax. Errors are *[Error]; syntax errors are left
// to the parser.
func CheckHCL1(file string, data []byte, isJSON bool) error {
	c := counter{file: file}
	if isJSON {
		s := jsonscanner.New(data)
		s.Error = func(jsontoken.Pos, string) {}
		for t := s.Scan(); c.err == nil && t.Type != jsontoken.EOF; t = s.Scan() {
			switch t.Type {
			case jsontoken.LBRACE, jsontoken.LBRACK:
				c.open(t.Pos.Line, t.Pos.Column)
			case jsontoken.RBRACE, jsontoken.RBRACK:
				c.depth--
			}
		}
		return c.err
	}
	s := scanner.New(data)
	s.Error = func(token.Pos, string) {}
	for t := s.Scan(); c.err == nil && t.Type != token.EOF; t = s.Scan() {
		switch t.Type {
		case token.LBRACE, token.LBRACK:
			c.open(t.Pos.Line, t.Pos.Column)
		case token.RBRACE, token.RBRACK:
			c.depth--
		}
	}
	return c.err
}

// counter counts brackets until there are too many.
type counter struct {
	file          string
	depth, opened int
	err           error
}

func (c *counter) open(line, column int) {
	c.depth++
	c.opened++
	problem := ""
	switch {
	case c.depth > maxDepth:
		problem = tooDeep
	case c.opened > maxOpened:
		problem = fmt.Sprintf("there are more than %d blocks and lists", maxOpened)
	}
	if problem != "" {
		c.err = &Error{Position: Position{c.file, line, column}, Problem: problem}
	}
}
