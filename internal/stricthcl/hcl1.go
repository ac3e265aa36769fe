package stricthcl

import (
	"fmt"

	"github.com/hashicorp/hcl/hcl/scanner"
	"github.com/hashicorp/hcl/hcl/token"
	jsonscanner "github.com/hashicorp/hcl/json/scanner"
	jsontoken "github.com/hashicorp/hcl/json/token"
)

const (
	// maxDepth limits the depth of brackets. Real files have about five levels.
	maxDepth = 64
	// maxOpened limits the number of brackets in HCL 1, because HCL 1's decoder
	// compares all pairs of blocks.
	maxOpened = 1024
	// maxOperators limits the number of operators in an HCL 2 expression. Operators can
	// nest without brackets, as in !!!!x. Real expressions have about ten operators.
	maxOperators = 256
)

// CheckHCL1 returns an *[Error] if the depth or the number of brackets in an HCL 1
// document exceeds its limit. If isJSON is set, the document is in JSON syntax.
// Otherwise, it is in native syntax. CheckHCL1 ignores syntax errors, because the
// parser reports them.
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

// counter counts brackets up to a limit.
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
		problem = fmt.Sprintf("more than %d blocks and lists", maxOpened)
	}
	if problem != "" {
		c.err = &Error{Position: Position{c.file, line, column}, Problem: problem}
	}
}
