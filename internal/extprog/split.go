package extprog

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// operators are the characters that end a word in a shell and mean something
	// by themselves: section 2.10.2 of POSIX' shell language, and the newline.
	operators = "|&;<>()\n"
	// escapable are those before which a backslash is a quote within double
	// quotes: section 2.2.3.
	escapable = "$`\"\\\n"
)

// split returns a command line's words, at least one and the first not empty.
func split(line string) ([]string, error) {
	fail := func(offset int, problem string) ([]string, error) {
		return nil, &provider.SyntaxError{What: "command line", Input: line, Offset: offset, Problem: problem}
	}
	// Arguments end with a NUL where they are handed over.
	if i := strings.IndexByte(line, 0); i >= 0 {
		return fail(i, "has a NUL byte, which no argument can hold")
	}
	var words []string
	var word []byte
	inWord := false // also in an empty one: two quotes with nothing between them
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
			return fail(i, "ends in a backslash, which quotes nothing")
		case c == '\\' && line[i+1] == '\n': // a line that goes on
			i++
			continue
		case c == '\\':
			i++
			word = append(word, line[i])
		case strings.IndexByte(operators, c) >= 0:
			return fail(i, fmt.Sprintf("%q means something to a shell, and no shell is run: quote it, or name a script that holds the commands", c))
		case c == '#' && !inWord:
			return fail(i, `"#" begins a comment for a shell, and no shell is run: quote it, or leave the comment out`)
		default:
			word = append(word, c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, string(word))
	}
	if len(words) == 0 || words[0] == "" {
		return fail(0, "names no program")
	}
	return words, nil
}

// doubleQuoted reads a text up to the next double quote. length includes that.
func doubleQuoted(text string) (quoted []byte, length int, closed bool) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '"' {
			return quoted, i + 1, true
		}
		if c == '\\' && i+1 < len(text) && strings.IndexByte(escapable, text[i+1]) >= 0 {
			i++
			if c = text[i]; c == '\n' {
				continue // a line that goes on
			}
		}
		quoted = append(quoted, c)
	}
	return nil, 0, false
}
