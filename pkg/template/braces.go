package template

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// part is literal text or a variable in a template in the {…} form. The name of literal
// text is empty.
type part struct {
	literal, name string
}

// parseBraces parses the {…} form. All text outside of braces is literal, including
// backslashes, which are path separators on Windows.
func parseBraces(body string) ([]part, uses, *fault) {
	fail := func(at int, problem string) ([]part, uses, *fault) {
		return nil, uses{}, &fault{at: at, problem: problem}
	}
	if !utf8.ValidString(body) {
		return fail(0, "is not valid UTF-8")
	}
	var parts []part
	var used uses
	for at := 0; at < len(body); {
		rest := body[at:]
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			parts = append(parts, part{literal: rest})
			break
		}
		parts = append(parts, part{literal: rest[:i]})
		at += i
		if body[at] == '}' {
			return fail(at, "closing brace without an opening brace")
		}
		name, _, found := strings.Cut(body[at+1:], "}")
		if !found || strings.Contains(name, "{") {
			return fail(at, "the brace is not closed")
		}
		if !used.add(name) {
			return fail(at, fmt.Sprintf("unknown variable %q; %s", name, available))
		}
		parts = append(parts, part{name: name})
		at += len(name) + len("{}")
	}
	return parts, used, nil
}

// evalBraces replaces variables by values.
func evalBraces(body string, values variables) (string, *fault) {
	parts, _, f := parseBraces(body)
	if f != nil {
		return "", f
	}
	var b strings.Builder
	for _, p := range parts {
		switch p.name {
		case "":
			b.WriteString(p.literal)
		case "hostname":
			b.WriteString(values.hostname)
		case "namespace":
			b.WriteString(values.namespace)
		case "type":
			b.WriteString(values.typ)
		}
	}
	return b.String(), nil
}
