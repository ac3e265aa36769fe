// Package extprog runs external programs: makers of SBOMs, creators of
// repositories. The gateway to them is a small one. A program gets words, an
// environment and perhaps a JSON object of strings on stdin; it answers with one
// JSON object on stdout, and with exit status 0 when all went well. Whatever it
// does, it is limited in time and output, and no process of it stays behind.
package extprog

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Program is a program and its arguments. The zero value runs nothing.
type Program struct{ words []string }

// New returns the program of some words, of which the first is its name or path.
func New(words ...string) Program { return Program{words} }

// placeholder is a word in braces, which stands for something or is mistyped.
var placeholder = regexp.MustCompile(`\{([a-zA-Z_-]+)\}`)

// Parse reads a command line: words as a POSIX shell splits and quotes them
// (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02).
// But no shell is run: $, `, * and ~ stand for themselves, and what only a shell
// can act on is refused unless quoted. On Windows too a backslash quotes, so a
// path with backslashes goes between single quotes. A {word} that is none of the
// placeholders is refused; braces around anything else stand for themselves. Errors are
// *[provider.SyntaxError].
func Parse(commandLine string, placeholders ...string) (Program, error) {
	words, err := split(commandLine)
	if err != nil {
		return Program{}, err
	}
	for _, at := range placeholder.FindAllStringSubmatchIndex(commandLine, -1) {
		name := commandLine[at[2]:at[3]]
		if slices.Contains(placeholders, name) {
			continue
		}
		problem := fmt.Sprintf("nothing is called {%s}; there are {%s}", name, strings.Join(placeholders, "}, {"))
		if meant, found := text.Nearest(name, placeholders); found {
			problem = fmt.Sprintf("nothing is called {%s}; did you mean {%s}?", name, meant)
		}
		return Program{}, &provider.SyntaxError{What: "command line", Input: commandLine, Offset: at[0], Problem: problem}
	}
	return New(words...), nil
}

// Name returns the program's file name, without directories and arguments, which may be
// secrets.
func (p Program) Name() string {
	if len(p.words) == 0 {
		return ""
	}
	return filepath.Base(p.words[0])
}
