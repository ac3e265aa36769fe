package cliconfig

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// printer writes native syntax, in which every value of either syntax can stand.
type printer struct {
	strings.Builder
	depth    int
	problems []error
}

// bare are the names that need no quotes.
var bare = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func (p *printer) line(format string, args ...any) {
	p.WriteString(strings.Repeat("  ", p.depth) + fmt.Sprintf(format, args...) + "\n")
}

// block writes a block, with or without a label.
func (p *printer) block(name string, labels []node, body func()) {
	words := []string{p.name(name)}
	for _, label := range labels {
		words = append(words, p.text(label))
	}
	p.line("%s {", strings.Join(words, " "))
	p.depth++
	body()
	p.depth--
	p.line("}")
}

// items writes members as they are.
func (p *printer) items(items []item) {
	for _, i := range items {
		if i.value.kind == object && !i.assigned {
			p.block(i.name, i.labels, func() { p.items(i.value.items) })
			continue
		}
		p.argument(i.name, i.value)
	}
}

func (p *printer) argument(name string, value node) { p.line("%s = %s", p.name(name), p.value(value)) }

func (p *printer) name(name string) string {
	if bare.MatchString(name) {
		return name
	}
	return p.text(node{text: name})
}

// text writes a text in quotes, which HCL 1 must be able to read back.
func (p *printer) text(n node) string {
	if !quotable(n.text) {
		p.problems = append(p.problems, &stricthcl.Error{Position: n.at, Problem: "this text can't be written into another configuration: braces in ${…} must balance, and a text has no control characters"})
	}
	return quote(n.text)
}

func (p *printer) value(n node) string {
	switch n.kind {
	case str:
		return p.text(n)
	case list:
		elements := make([]string, len(n.list))
		for i, element := range n.list {
			elements[i] = p.value(element)
		}
		return "[" + strings.Join(elements, ", ") + "]"
	case object:
		inner := &printer{depth: p.depth + 1}
		inner.items(n.items)
		p.problems = append(p.problems, inner.problems...)
		return "{\n" + inner.String() + strings.Repeat("  ", p.depth) + "}"
	}
	return n.text // a number or true or false, as it is written
}

func (p *printer) err() error { return errors.Join(p.problems...) }
