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

// split gives a command line's words, at least one and the first not empty.
func split(line string) ([]string, error) {
	s := splitter{line: line}
	// Arguments end with a NUL where they are handed over.
	if i := strings.IndexByte(line, 0); i >= 0 {
		return nil, s.fail(i, "has a NUL byte, which no argument can hold")
	}
	for s.at < len(line) {
		if err := s.step(); err != nil {
			return nil, err
		}
	}
	s.endWord()
	if len(s.words) == 0 || s.words[0] == "" {
		return nil, s.fail(0, "names no program")
	}
	return s.words, nil
}

// splitter is a command line while it is read.
type splitter struct {
	line string
	// at is the byte of line to read next.
	at    int
	words []string
	// word is the one that is being read, when inWord: two quotes with nothing
	// between them are a word too.
	word   []byte
	inWord bool
}

// step reads a character outside of quotes, or a quoted piece.
func (s *splitter) step() error {
	switch c := s.line[s.at]; {
	case c == ' ' || c == '\t':
		s.endWord()
	case c == '\'':
		return s.singleQuoted()
	case c == '"':
		return s.doubleQuoted()
	case c == '\\':
		return s.escaped()
	case strings.IndexByte(operators, c) >= 0:
		return s.fail(s.at, fmt.Sprintf("%q means something to a shell, and no shell is run: quote it, or name a script that holds the commands", c))
	case c == '#' && !s.inWord:
		return s.fail(s.at, `"#" begins a comment for a shell, and no shell is run: quote it, or leave the comment out`)
	default:
		s.add(c)
	}
	s.at++
	return nil
}

// singleQuoted reads up to the next single quote: nothing is special in there.
func (s *splitter) singleQuoted() error {
	quoted, _, closed := strings.Cut(s.line[s.at+1:], "'")
	if !closed {
		return s.fail(s.at, "a single quote is not closed")
	}
	s.add([]byte(quoted)...)
	s.at += len(quoted) + len("''")
	return nil
}

func (s *splitter) doubleQuoted() error {
	s.add()
	for i := s.at + 1; i < len(s.line); i++ {
		c := s.line[i]
		if c == '"' {
			s.at = i + 1
			return nil
		}
		if c == '\\' && i+1 < len(s.line) && strings.IndexByte(escapable, s.line[i+1]) >= 0 {
			i++
			if c = s.line[i]; c == '\n' {
				continue // a line that goes on
			}
		}
		s.add(c)
	}
	return s.fail(s.at, "a double quote is not closed")
}

func (s *splitter) escaped() error {
	if s.at+1 == len(s.line) {
		return s.fail(s.at, "ends in a backslash, which quotes nothing")
	}
	if c := s.line[s.at+1]; c != '\n' {
		s.add(c)
	}
	s.at += 2
	return nil
}

// add continues the word, or begins it.
func (s *splitter) add(c ...byte) {
	s.word = append(s.word, c...)
	s.inWord = true
}

func (s *splitter) endWord() {
	if s.inWord {
		s.words = append(s.words, string(s.word))
	}
	s.word, s.inWord = nil, false
}

func (s *splitter) fail(offset int, problem string) error {
	return &provider.SyntaxError{What: "command line", Input: s.line, Offset: offset, Problem: problem}
}
