package template

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxMatches limits the number of addresses for a reference, because text can be
// divided among adjacent variables in many ways.
const maxMatches = 16

// maxSplits limits the number of ways to split a reference. Each component has at most
// 255 characters.
const maxSplits = 1 << 16

// Match returns the addresses for which the template produces ref, in sorted order.
// fits reports whether the reference has the form of the template. If variables are
// adjacent, Match can return several addresses. If the template lacks namespace or type,
// Match returns no addresses. In both cases, the reference alone doesn't identify the
// provider. If the template lacks hostname, the host is assumed to be
// [provider.DefaultHost].
//
// If the template contains HCL other than variables, fits is false.
func (t Template) Match(ref Reference) (addresses []provider.Address, fits bool) {
	fits = t.split(ref, func(values map[string]string) bool {
		if values["namespace"] == "" || values["type"] == "" {
			return true
		}
		a, err := provider.ParseAddress(values["hostname"] + "/" + values["namespace"] + "/" + values["type"])
		if err != nil {
			return false
		}
		// Skip normalized values and invalid references.
		again, err := t.Repository(a)
		if err != nil || again != ref {
			return false
		}
		if !slices.Contains(addresses, a) {
			addresses = append(addresses, a)
		}
		return true
	})
	slices.SortFunc(addresses, provider.Address.Compare)
	return addresses, fits
}

// split calls take with each set of values for which the template can produce the
// reference, and reports whether take accepted any of them. If the template doesn't use
// hostname, the value of hostname is the default host.
func (t Template) split(ref Reference, take func(values map[string]string) bool) (fits bool) {
	text, isLayout := strings.CutPrefix(t.text, layoutPrefix)
	parts, ok := partsOf(text)
	if !ok || isLayout != ref.IsLayout() {
		return false
	}
	m := &matcher{take: func(values map[string]string) bool {
		accepted := false
		for _, host := range hostsOf(values["hostname"], isLayout) {
			values := maps.Clone(values)
			values["hostname"] = host
			accepted = take(values) || accepted
		}
		return accepted
	}}
	m.match(parts, strings.TrimPrefix(ref.String(), layoutPrefix), map[string]string{})
	return m.found > 0
}

// Invertible reports whether [Template.Match] supports the template.
func (t Template) Invertible() bool {
	_, ok := partsOf(strings.TrimPrefix(t.text, layoutPrefix))
	return ok
}

// Literal returns the text before the first variable, without the layout prefix. If the
// template has no variables or is not invertible, it returns the complete text.
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

// partsOf splits a template of either form. It returns false if the template contains
// anything other than text and variables.
func partsOf(body string) ([]part, bool) {
	if !isHCL(body) {
		parts, _, f := parseBraces(body, nil)
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

// partOf returns the part for an expression that is literal text or a variable.
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

// matcher finds values of variables for which a template produces the given text.
type matcher struct {
	// take reports whether it accepts the values.
	take   func(values map[string]string) bool
	found  int
	splits int
}

// match tries each value of the first variable, and then matches the remaining text.
func (m *matcher) match(parts []part, text string, values map[string]string) {
	if m.splits++; m.splits > maxSplits || m.found == maxMatches {
		return
	}
	if len(parts) == 0 {
		if text == "" && m.take(values) {
			m.found++
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

// isSeparator reports whether a character can't be part of a value.
func isSeparator(c byte) bool { return c == '/' || c == '\\' }

// hostsOf returns the hosts that a part of a reference can represent. In the path of a
// layout, an underscore can represent the colon before a port.
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
