package extprog

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// operators contains the newline and the characters of shell operators (section
	// 2.10.2 of the POSIX shell language). Unquoted operators end a word.
	operators = "|&;<>()\n"
	// escapable contains the characters that a backslash escapes within double quotes
	// (section 2.2.3).
	escapable = "$`\"\\\n"
)

// split returns a command line's words. The result has at least one word, and the first
// word is not empty.
func split(line string) ([]string, error) {
	fail := func(offset int, problem string) ([]string, error) {
		return nil, &provider.SyntaxError{What: "command line", Input: line, Offset: offset, Problem: problem}
	}
	// Arguments cannot contain NUL.
	if i := strings.IndexByte(line, 0); i >= 0 {
		return fail(i, "contains a NUL byte, which is not allowed in arguments")
	}
	var words []string
	var word []byte
	inWord := false // also set for an empty word that consists of two quotes
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			if inWord {
				words = append(words, string(word))
			}
			word, inWord = nil, false
			continue
		case c == '\'':
			quoted, _, closed := strings.Cut(line[i+1:], "'")
			if !closed {
				return fail(i, "a single quote is not closed")
			}
			word = append(word, quoted...)
			i += len(quoted) + len("'")
		case c == '"':
			quoted, length, closed := doubleQuoted(line[i+1:])
			if !closed {
				return fail(i, "a double quote is not closed")
			}
			word = append(word, quoted...)
			i += length
		case c == '\\' && i+1 == len(line):
			return fail(i, "ends with a backslash that escapes nothing")
		case c == '\\' && line[i+1] == '\n': // line continuation
			i++
			continue
		case c == '\\':
			i++
			word = append(word, line[i])
		case strings.IndexByte(operators, c) >= 0:
			return fail(i, fmt.Sprintf("%q has a special meaning only in a shell, and no shell is run; quote it, or specify a script that contains the commands", c))
		case c == '#' && !inWord:
			return fail(i, `"#" starts a comment only in a shell, and no shell is run; quote it, or remove the comment`)
		default:
			word = append(word, c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, string(word))
	}
	if len(words) == 0 || words[0] == "" {
		return fail(0, "contains no program")
	}
	return words, nil
}

// doubleQuoted parses text up to the next double quote. length includes the quote.
func doubleQuoted(text string) (quoted []byte, length int, closed bool) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '"' {
			return quoted, i + 1, true
		}
		if c == '\\' && i+1 < len(text) && strings.IndexByte(escapable, text[i+1]) >= 0 {
			i++
			if c = text[i]; c == '\n' {
				continue // line continuation
			}
		}
		quoted = append(quoted, c)
	}
	return nil, 0, false
}
