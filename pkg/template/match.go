package template

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxMatches bounds the addresses that one reference may be of. Variables without
// a separator between them could be told apart in any number of ways.
const maxMatches = 16

// maxSplits bounds the ways in which one reference is taken apart. A component has
// at most 255 characters.
const maxSplits = 1 << 16

// Match is the way back from a reference to the address. Fits tells whether the
// template has the reference's form. The addresses are those that the template
// makes the reference of, sorted: several where nothing separates two variables, and
// none where namespace or type is no variable of it, so that only the repository
// itself can say whose it is. Without {hostname} they are addresses of
// [provider.DefaultHost], which is a guess.
//
// Nothing fits a template that has more of HCL's template language than variables.
func (t Template) Match(ref Reference) (addresses []provider.Address, fits bool) {
	text, isLayout := strings.CutPrefix(t.text, layoutPrefix)
	parts, ok := partsOf(text)
	if !ok || isLayout != ref.IsLayout() {
		return nil, false
	}
	m := &matcher{template: t, ref: ref}
	m.match(parts, strings.TrimPrefix(ref.String(), layoutPrefix), map[string]string{})
	slices.SortFunc(m.found, provider.Address.Compare)
	return m.found, m.fits
}

// Invertible reports whether [Template.Match] can say anything of a reference.
func (t Template) Invertible() bool {
	_, ok := partsOf(strings.TrimPrefix(t.text, layoutPrefix))
	return ok
}

// Literal returns the text before the first variable, without the prefix of layouts:
// the whole template where there is none, or where it is not invertible.
func (t Template) Literal() string {
	text := strings.TrimPrefix(t.text, layoutPrefix)
	parts, ok := partsOf(text)
	if !ok {
		return text
	}
	var b strings.Builder
	for _, p := range parts {
		if p.name != "" {
			break
		}
		b.WriteString(p.literal)
	}
	return b.String()
}

// partsOf takes a template of either form apart. It is false for what is more than
// text and variables.
func partsOf(body string) ([]part, bool) {
	if !isHCL(body) {
		parts, _, f := parseBraces(body)
		return parts, f == nil
	}
	expr, f := parseExpression(body)
	if f != nil {
		return nil, false
	}
	var exprs []hclsyntax.Expression
	switch e := expr.(type) {
	case *hclsyntax.TemplateExpr:
		exprs = e.Parts
	case *hclsyntax.TemplateWrapExpr:
		exprs = []hclsyntax.Expression{e.Wrapped}
	}
	var parts []part
	for _, e := range exprs {
		p, ok := partOf(e)
		if !ok {
			return nil, false
		}
		parts = append(parts, p)
	}
	return parts, len(parts) > 0
}

// partOf reads an expression that is text, or the name of a variable.
func partOf(e hclsyntax.Expression) (part, bool) {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		if e.Val.Type() == cty.String && e.Val.IsKnown() && !e.Val.IsNull() {
			return part{literal: e.Val.AsString()}, true
		}
	case *hclsyntax.ScopeTraversalExpr:
		if len(e.Traversal) == 1 {
			return part{name: e.Traversal.RootName()}, true
		}
	}
	return part{}, false
}

// matcher looks for the values of variables that make a text of a template.
type matcher struct {
	template Template
	ref      Reference
	fits     bool
	found    []provider.Address
	splits   int
}

// match tries each value of the first part that is a variable, and goes on with what
// is left of the text.
func (m *matcher) match(parts []part, text string, values map[string]string) {
	if m.splits++; m.splits > maxSplits || len(m.found) == maxMatches {
		return
	}
	if len(parts) == 0 {
		if text == "" {
			m.take(values)
		}
		return
	}
	p, rest := parts[0], parts[1:]
	known, bound := values[p.name]
	if p.name == "" || bound {
		if text, found := strings.CutPrefix(text, p.literal+known); found {
			m.match(rest, text, values)
		}
		return
	}
	for end := 1; end <= len(text) && !isSeparator(text[end-1]); end++ {
		values[p.name] = text[:end]
		m.match(rest, text[end:], values)
	}
	delete(values, p.name)
}

// isSeparator tells what no value of a variable has.
func isSeparator(c byte) bool { return c == '/' || c == '\\' }

// take keeps the address of some values, if the template makes the reference of it.
func (m *matcher) take(values map[string]string) {
	if values["namespace"] == "" || values["type"] == "" {
		m.fits = true
		return
	}
	for _, host := range hostsOf(values["hostname"], m.ref.IsLayout()) {
		a, err := provider.ParseAddress(host + "/" + values["namespace"] + "/" + values["type"])
		if err != nil {
			continue
		}
		// What was normalized, or is no repository, would not lead back.
		if again, err := m.template.Repository(a); err != nil || again != m.ref || slices.Contains(m.found, a) {
			continue
		}
		m.fits, m.found = true, append(m.found, a)
	}
}

// hostsOf returns the hosts that a text in a reference may stand for: in the path of a
// layout an underscore is the colon before a port.
func hostsOf(text string, isLayout bool) []string {
	if text == "" {
		return []string{string(provider.DefaultHost)}
	}
	at := strings.LastIndexByte(text, '_')
	if !isLayout || at < 0 {
		return []string{text}
	}
	return []string{text, text[:at] + ":" + text[at+1:]}
}
