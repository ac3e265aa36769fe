package cliconfig

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/token"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// printer prints syntax trees in native syntax. Native syntax can represent every value
// of JSON syntax.
type printer struct {
	strings.Builder
	// file is the file name for error messages.
	file     string
	depth    int
	problems []error
}

// bare matches names that don't need quotes.
var bare = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func (p *printer) line(format string, args ...any) {
	p.WriteString(strings.Repeat("  ", p.depth) + fmt.Sprintf(format, args...) + "\n")
}

// block prints a block. The header consists of the block's name and labels.
func (p *printer) block(header string, body func()) {
	p.line("%s {", header)
	p.depth++
	body()
	p.depth--
	p.line("}")
}

// item prints a block or an argument.
func (p *printer) item(i *ast.ObjectItem) {
	words := []string{p.name(keyOf(i, 0))}
	for _, label := range i.Keys[1:] {
		words = append(words, p.text(textOf(label.Token), label.Token.Pos))
	}
	header := strings.Join(words, " ")
	body, isObject := i.Val.(*ast.ObjectType)
	if isObject && (!i.Assign.IsValid() || i.Keys[0].Token.JSON) {
		p.block(header, func() { p.items(body.List.Items) })
		return
	}
	p.argument(header, p.value(i.Val))
}

func (p *printer) items(items []*ast.ObjectItem) {
	for _, i := range items {
		p.item(i)
	}
}

func (p *printer) argument(name, value string) { p.line("%s = %s", name, value) }

func (p *printer) name(name string) string {
	if bare.MatchString(name) {
		return name
	}
	return p.text(name, token.Pos{})
}

// text returns a quoted string. It reports an error if HCL 1 can't parse the quoted
// string.
func (p *printer) text(text string, at token.Pos) string {
	if !quotable(text) {
		p.problems = append(p.problems, &stricthcl.Error{
			Position: stricthcl.Position{File: p.file, Line: at.Line, Column: at.Column},
			Problem:  "this string cannot be written to another configuration: braces in ${…} must be balanced, and control characters are not allowed",
		})
	}
	return quote(text)
}

func (p *printer) texts(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = p.text(text, token.Pos{})
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func (p *printer) value(n ast.Node) string {
	switch n := n.(type) {
	case *ast.LiteralType:
		if n.Token.Type == token.STRING || n.Token.Type == token.HEREDOC {
			return p.text(textOf(n.Token), n.Token.Pos)
		}
		return n.Token.Text // keep numbers and Booleans as written
	case *ast.ListType:
		elements := make([]string, len(n.List))
		for i, element := range n.List {
			elements[i] = p.value(element)
		}
		return "[" + strings.Join(elements, ", ") + "]"
	case *ast.ObjectType:
		inner := &printer{file: p.file, depth: p.depth + 1}
		inner.items(n.List.Items)
		p.problems = append(p.problems, inner.problems...)
		return "{\n" + inner.String() + strings.Repeat("  ", p.depth) + "}"
	}
	return `""`
}

func (p *printer) err() error { return errors.Join(p.problems...) }
