package template

import (
	"strings"
	"unicode/utf8"
)

// part is literal text or a variable in a template in the {…} form. The name of literal
// text is empty.
type part struct {
	literal, name string
}

// parseBraces parses the {…} form. All text outside of braces is literal, including
// backslashes, which are path separators on Windows. If vars is nil, all variables are
// valid.
func parseBraces(body string, vars *variables) ([]part, uses, *fault) {
	fail := func(at int, problem string) ([]part, uses, *fault) {
		return nil, 0, &fault{at: at, problem: problem}
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
		use, known := vars.find(name)
		if !known {
			return fail(at, vars.unknown(name))
		}
		used |= use
		parts = append(parts, part{name: name})
		at += len(name) + len("{}")
	}
	return parts, used, nil
}

// evalBraces replaces variables with values.
func evalBraces(body string, values map[string]string) (string, *fault) {
	parts, _, f := parseBraces(body, nil)
	if f != nil {
		return "", f
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.literal)
		b.WriteString(values[p.name])
	}
	return b.String(), nil
}
