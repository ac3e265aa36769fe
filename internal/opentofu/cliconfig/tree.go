package cliconfig

import (
	"github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/token"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// kind is what a value is.
type kind int

const (
	str kind = iota
	number
	boolean
	list
	object
	// other is what neither syntax of the configuration has a use for.
	other
)

// node is a value in a file, of either syntax. HCL 1 reads JSON into a tree of
// its own, but without positions and with members merged into their parents.
type node struct {
	at   stricthcl.Position
	kind kind
	// text is that of a text, number or boolean.
	text string
	// plain: the file has the text as it is, one quote after at.
	plain bool
	list  []node
	items []item
}

// item is a member of an object, or what the file holds at the top.
type item struct {
	at   stricthcl.Position
	name string
	// labels and assigned are of native syntax: name "label" { … }, name = value.
	labels   []node
	assigned bool
	value    node
}

// within gives the position of a byte of the text.
func (n node) within(offset int) stricthcl.Position {
	if !n.plain || offset < 0 || offset > len(n.text) {
		return n.at
	}
	return after(n.at, `"`+n.text[:offset])
}

// parseNative reads the native syntax, which is HCL 1's.
func parseNative(file string, data []byte) ([]item, error) {
	root, err := hcl.ParseBytes(data)
	if err != nil {
		return nil, parserError(file, err)
	}
	body, ok := root.Node.(*ast.ObjectList)
	if !ok {
		return nil, &stricthcl.Error{Position: stricthcl.Position{File: file, Line: 1, Column: 1}, Problem: "the file must contain blocks"}
	}
	return native{file}.items(body), nil
}

// native turns HCL 1's tree into ours.
type native struct{ file string }

func (n native) position(p token.Pos) stricthcl.Position {
	return stricthcl.Position{File: n.file, Line: p.Line, Column: p.Column}
}

func (n native) items(body *ast.ObjectList) []item {
	items := make([]item, 0, len(body.Items))
	for _, i := range body.Items {
		if len(i.Keys) == 0 {
			continue
		}
		items = append(items, item{
			at: n.position(i.Pos()), name: n.literal(i.Keys[0].Token).text, labels: n.labels(i.Keys[1:]),
			assigned: i.Assign.IsValid(), value: n.value(i.Val),
		})
	}
	return items
}

func (n native) labels(keys []*ast.ObjectKey) []node {
	var labels []node
	for _, key := range keys {
		labels = append(labels, n.literal(key.Token))
	}
	return labels
}

func (n native) value(v ast.Node) node {
	switch v := v.(type) {
	case *ast.ObjectType:
		return node{at: n.position(v.Pos()), kind: object, items: n.items(v.List)}
	case *ast.ListType:
		elements := node{at: n.position(v.Pos()), kind: list}
		for _, element := range v.List {
			elements.list = append(elements.list, n.value(element))
		}
		return elements
	case *ast.LiteralType:
		return n.literal(v.Token)
	}
	return node{at: n.position(v.Pos()), kind: other}
}

func (n native) literal(t token.Token) node {
	value := node{at: n.position(t.Pos), text: t.Text}
	switch t.Type {
	case token.STRING, token.HEREDOC, token.IDENT:
		value.text, _ = t.Value().(string)
		value.plain = t.Text == `"`+value.text+`"`
	case token.NUMBER:
		value.kind = number
	case token.BOOL:
		value.kind = boolean
	default:
		value.kind = other
	}
	return value
}
