package cliconfig

import (
	"strconv"

	"github.com/hashicorp/hcl/json/scanner"
	"github.com/hashicorp/hcl/json/token"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// parseJSON reads the JSON syntax: one object. It goes by HCL 1's tokens, which
// are not quite those of JSON: commas may trail, and some escapes are unknown.
// HCL 1's parser itself forgets positions, and what follows a mistake.
func parseJSON(file string, data []byte) ([]item, error) {
	j := &jsonReader{file: file, scanner: scanner.New(data)}
	j.scanner.Error = func(at token.Pos, problem string) {
		if j.err == nil {
			j.err = &stricthcl.Error{Position: stricthcl.Position{File: file, Line: at.Line, Column: at.Column}, Problem: parserProblem(problem)}
		}
	}
	root := j.value(j.next())
	if t := j.next(); j.err == nil && t.Type != token.EOF {
		j.fail(t, "there is something after the end of the object")
	}
	if j.err != nil {
		return nil, j.err
	}
	return root.items, nil
}

// jsonReader reads a document until the first mistake, which it keeps.
type jsonReader struct {
	file    string
	scanner *scanner.Scanner
	err     error
}

// next gives the next token; after a mistake, the end.
func (j *jsonReader) next() token.Token {
	t := j.scanner.Scan()
	if j.err != nil {
		t.Type = token.EOF
	}
	return t
}

func (j *jsonReader) position(t token.Token) stricthcl.Position {
	return stricthcl.Position{File: j.file, Line: t.Pos.Line, Column: t.Pos.Column}
}

func (j *jsonReader) fail(t token.Token, problem string) {
	if j.err != nil {
		return
	}
	if t.Type == token.EOF {
		problem = "the JSON text ends too early"
	}
	j.err = &stricthcl.Error{Position: j.position(t), Problem: problem}
}

// value reads the value that starts with a token.
func (j *jsonReader) value(t token.Token) node {
	n := node{at: j.position(t), text: t.Text}
	switch t.Type {
	case token.LBRACE:
		return j.object(n)
	case token.LBRACK:
		return j.list(n)
	case token.STRING:
		return j.string(n, t)
	case token.NULL:
		n.text = "" // HCL 1 takes null for an empty text.
	case token.NUMBER:
		n.kind = number
	case token.BOOL:
		n.kind = boolean
	case token.FLOAT:
		n.kind = other
	default:
		j.fail(t, "a value must stand here, not "+inWords(t.Type.String()))
	}
	return n
}

// string reads a text. HCL 1 breaks down at one that Go could not have, but only
// where it is asked for: escapes of JSON's for letters beyond 16 bits are such.
func (j *jsonReader) string(n node, t token.Token) node {
	unquoted, err := strconv.Unquote(t.Text)
	if err != nil {
		n.kind, n.text = other, ""
		return n
	}
	n.text, n.plain = unquoted, t.Text == `"`+unquoted+`"`
	return n
}

// list reads elements up to the bracket. Commas between them may be more or less
// than one, as HCL 1 has it. After a list within a list it silently leaves out the
// rest of the file, which nobody means: here that is a mistake.
func (j *jsonReader) list(n node) node {
	n.kind, n.text = list, ""
	for {
		switch t := j.next(); t.Type {
		case token.RBRACK:
			return n
		case token.COMMA:
		case token.LBRACK, token.NULL:
			j.fail(t, "a list cannot hold lists or null")
			return n
		default:
			n.list = append(n.list, j.value(t))
		}
		if j.err != nil {
			return n
		}
	}
}

// object reads members up to the brace.
func (j *jsonReader) object(n node) node {
	n.kind, n.text = object, ""
	for {
		key := j.next()
		if key.Type == token.RBRACE {
			return n // also after a comma
		}
		if key.Type != token.STRING {
			j.fail(key, "a name in quotes must stand here, not "+inWords(key.Type.String()))
			return n
		}
		name := j.string(node{at: j.position(key)}, key)
		if name.kind != str {
			j.fail(key, "OpenTofu's parser breaks down at this name")
		}
		if colon := j.next(); colon.Type != token.COLON {
			j.fail(colon, "a colon must stand here, not "+inWords(colon.Type.String()))
		}
		n.items = append(n.items, item{at: name.at, name: name.text, value: j.value(j.next())})
		switch end := j.next(); end.Type {
		case token.RBRACE:
			return n
		case token.COMMA:
		default:
			j.fail(end, "a comma or a brace must stand here, not "+inWords(end.Type.String()))
		}
		if j.err != nil {
			return n
		}
	}
}
