package configuration

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxPlainDepth limits the depth of brackets in plain text.
	maxPlainDepth = 32
	// maxPlain limits the number of arguments in a block and of operands in an
	// expression.
	maxPlain = 64
)

// plainBlock matches the headers of blocks whose only possible errors are syntax
// errors. Other blocks depend on these blocks only if the source of a module refers to
// them, and Check skips such modules.
var plainBlock = regexp.MustCompile(`^(locals|(output|variable|(resource|data) "[a-z0-9]+_[a-z0-9_]+") "[A-Za-z0-9_-]+") $`)

// plainLabel matches the label of a nested block.
var plainLabel = regexp.MustCompile(`^"[A-Za-z0-9_-]+" `)

// isPlain reports whether a file is certain to have no errors. It recognizes only a
// common subset of the language, but is about 20 times as fast as the HCL parser.
func isPlain(data []byte) bool {
	p := plain{text: string(data)}
	if !utf8.Valid(data) {
		return false
	}
	for p.space(true); p.at < len(p.text); p.space(true) {
		header, _, found := strings.Cut(p.text[p.at:], "{")
		if !found || !plainBlock.MatchString(header) {
			return false
		}
		if p.at += len(header) + 1; !p.body(header != "locals ") || !p.lineEnd() {
			return false
		}
	}
	return true
}

// plain reads text in the subset that [isPlain] recognizes. Its methods skip an element
// and report whether the element is valid.
type plain struct {
	text      string
	at, depth int
}

// peek returns the next byte, or 0 at the end.
func (p *plain) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// has reports whether the remaining text starts with prefix. If so, it skips the
// prefix.
func (p *plain) has(prefix string) bool {
	found := strings.HasPrefix(p.text[p.at:], prefix)
	if found {
		p.at += len(prefix)
	}
	return found
}

// space skips spaces. If lines is set, it also skips newlines and comments.
func (p *plain) space(lines bool) {
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == ' ', lines && c == '\n':
		case lines && p.atComment():
			comment, _, _ := strings.Cut(p.text[p.at+1:], "\n")
			p.at += len(comment)
		case lines && strings.HasPrefix(p.text[p.at:], "/*"):
			comment, _, closed := strings.Cut(p.text[p.at+2:], "*/")
			if !closed {
				return
			}
			p.at += len(comment) + 3
		default:
			return
		}
	}
}

// atComment reports whether the remaining text starts with a single-line comment.
func (p *plain) atComment() bool {
	return p.peek() == '#' || strings.HasPrefix(p.text[p.at:], "//")
}

// lineEnd skips spaces and reports whether the line ends after them.
func (p *plain) lineEnd() bool {
	p.space(false)
	return p.at == len(p.text) || p.peek() == '\n' || p.atComment()
}

// name skips an identifier and returns it.
func (p *plain) name() string {
	start := p.at
	for ; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		isLetter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !isLetter && (p.at == start || c != '-' && (c < '0' || c > '9')) {
			break
		}
	}
	return p.text[start:p.at]
}

// nested calls skip, unless the depth exceeds the limit.
func (p *plain) nested(skip func() bool) bool {
	p.depth++
	defer func() { p.depth-- }()
	return p.depth <= maxPlainDepth && skip()
}

// body skips the rest of a block after the bracket. top is set for top-level blocks
// except locals.
func (p *plain) body(top bool) bool {
	if p.has("}") {
		return true
	}
	if !p.lineEnd() { // a block with one argument on a single line
		name := p.name()
		p.space(false)
		return name != "" && (!top || name != "provider") && p.has("=") && p.expression(false) && p.has("}")
	}
	var arguments []string
	for p.space(true); !p.has("}"); p.space(true) {
		name := p.name()
		p.space(false)
		switch isArgument := p.has("="); {
		case name == "", top && name == "provider":
			return false
		case isArgument:
			if slices.Contains(arguments, name) || len(arguments) == maxPlain || !p.expression(false) {
				return false
			}
			arguments = append(arguments, name)
		case top && (name == "default" || name == "type"):
			return false
		default:
			p.at += len(plainLabel.FindString(p.text[p.at:]))
			if !p.has("{") || !p.nested(func() bool { return p.body(false) }) {
				return false
			}
		}
		if !p.lineEnd() {
			return false
		}
	}
	return true
}

// expression skips an expression. lines reports whether newlines are spaces.
func (p *plain) expression(lines bool) bool {
	for range maxPlain {
		if p.space(lines); p.has("!") || p.has("-") {
			p.space(lines)
		}
		if !p.nested(p.operand) {
			return false
		}
		p.space(lines)
		if p.atComment() || !slices.ContainsFunc([]string{"&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%"}, p.has) {
			return !p.has("?") || p.nested(func() bool { return p.expression(lines) && p.has(":") && p.expression(lines) })
		}
	}
	return false
}

// operand skips an operand.
func (p *plain) operand() bool {
	switch c := p.peek(); {
	case c == '"':
		return p.quoted()
	case c == '[':
		return p.list("]")
	case c == '{':
		return p.object()
	case c == '(':
		p.at++
		return p.expression(true) && p.has(")")
	case c == '<':
		return p.heredoc()
	case c >= '0' && c <= '9':
		for p.peek() >= '0' && p.peek() <= '9' {
			p.at++
		}
		return p.name() == "" && p.peek() != '.'
	}
	name := p.name()
	if name == "" || name == "for" || p.peek() == '(' && !p.list(")") {
		return false
	}
	for range maxPlain {
		switch {
		case strings.HasPrefix(p.text[p.at:], "..."):
			return true
		case p.has("."):
			if !p.has("*") && p.name() == "" {
				return false
			}
		case p.has("[*]"):
		case p.has("["):
			if !p.expression(true) || !p.has("]") {
				return false
			}
		default:
			return true
		}
	}
	return false
}

// list skips a list and its brackets.
func (p *plain) list(end string) bool {
	p.at++
	if p.space(true); end == "]" && p.has("for ") {
		return p.loop(false) && p.has(end)
	}
	for ; !p.has(end); p.space(true) {
		if !p.expression(true) {
			return false
		}
		if !p.has(",") {
			return end == ")" && p.has("...)") || p.has(end)
		}
	}
	return true
}

// loop skips the rest of a for expression up to its last bracket.
func (p *plain) loop(isObject bool) bool {
	for range 2 {
		if p.space(true); p.name() == "" {
			return false
		}
		if p.space(true); !p.has(",") {
			break
		}
	}
	if !p.has("in ") || !p.expression(true) || !p.has(":") || !p.expression(true) {
		return false
	}
	if isObject && (!p.has("=>") || !p.expression(true)) {
		return false
	}
	return !p.has("if ") || p.expression(true)
}

// object skips an object and its brackets.
func (p *plain) object() bool {
	p.at++
	if p.space(true); p.has("for ") {
		return p.loop(true) && p.has("}")
	}
	for ; !p.has("}"); p.space(true) {
		switch p.peek() {
		case '"':
			if !p.quoted() {
				return false
			}
		case '(':
			if p.at++; !p.expression(true) || !p.has(")") {
				return false
			}
		default:
			if name := p.name(); name == "" || name == "for" {
				return false
			}
		}
		if p.space(false); !p.has("=") && !p.has(":") || !p.expression(false) {
			return false
		}
		if p.space(false); !p.has(",") && p.peek() != '}' && !p.lineEnd() {
			return false
		}
	}
	return true
}

// quoted skips a string and its quotation marks.
func (p *plain) quoted() bool {
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return true
		case c < ' ':
			return false
		case c == '\\':
			if p.at++; !strings.ContainsRune(`"\nrt`, rune(p.peek())) {
				return false
			}
		case !p.literal():
			return false
		}
	}
	return false
}

// literal skips an interpolation at the current position of a template, except its
// closing bracket. It returns false for a directive, for an escape such as "$${", and
// for an interpolation that is not supported.
func (p *plain) literal() bool {
	c := p.peek()
	if c != '$' && c != '%' {
		return true
	}
	next := strings.TrimLeft(p.text[p.at+1:], "$%")
	if !strings.HasPrefix(next, "{") {
		return true
	}
	p.at++
	return c == '$' && p.has("{") && p.expression(true) && p.peek() == '}'
}

// heredocStart matches the first line of a heredoc.
var heredocStart = regexp.MustCompile(`^<<-?([A-Z]+)\n`)

// heredoc skips a heredoc without the newline at its end.
func (p *plain) heredoc() bool {
	start := heredocStart.FindStringSubmatch(p.text[p.at:])
	if start == nil {
		return false
	}
	p.at += len(start[0])
	for isLineStart := true; p.at < len(p.text); p.at++ {
		if isLineStart {
			line, _, ended := strings.Cut(p.text[p.at:], "\n")
			if ended && strings.TrimSpace(line) == start[1] {
				p.at += len(line)
				return true
			}
		}
		c := p.text[p.at]
		if isLineStart = c == '\n'; c == '\r' || !p.literal() {
			return false
		}
	}
	return false
}
