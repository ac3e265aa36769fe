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

// Program is a command line that [Parse] accepted. The zero value runs nothing.
type Program struct {
	// line is kept rather than its words, so that programs are comparable.
	line string
}

// Parse reads a command line: words as a POSIX shell splits and quotes them
// (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02).
// But no shell is run: $, `, * and ~ stand for themselves, and what only a shell
// can act on is refused unless quoted. On Windows too a backslash quotes, so a
// path with backslashes goes between single quotes. Errors are
// *[provider.SyntaxError].
func Parse(commandLine string) (Program, error) {
	if _, err := split(commandLine); err != nil {
		return Program{}, err
	}
	return Program{line: commandLine}, nil
}

// placeholder is a word in braces, which stands for something or is mistyped.
var placeholder = regexp.MustCompile(`\{([a-zA-Z_-]+)\}`)

// ParseWith reads a command line as [Parse] does, and refuses a {word} in it that
// is none of the names. Braces around anything else stand for themselves.
func ParseWith(commandLine string, names ...string) (Program, error) {
	p, err := Parse(commandLine)
	if err != nil {
		return Program{}, err
	}
	for _, at := range placeholder.FindAllStringSubmatchIndex(commandLine, -1) {
		name := commandLine[at[2]:at[3]]
		if slices.Contains(names, name) {
			continue
		}
		problem := fmt.Sprintf("nothing is called {%s}; there are {%s}", name, strings.Join(names, "}, {"))
		if meant, found := text.Nearest(name, names); found {
			problem = fmt.Sprintf("nothing is called {%s}; did you mean {%s}?", name, meant)
		}
		return Program{}, &provider.SyntaxError{What: "command line", Input: commandLine, Offset: at[0], Problem: problem}
	}
	return p, nil
}

// String gives the command line as it was parsed. It may hold secrets, so errors
// tell [Program.Name].
func (p Program) String() string { return p.line }

// Name gives the program's file name, without directories and arguments.
func (p Program) Name() string {
	words, err := split(p.line)
	if err != nil {
		return ""
	}
	return filepath.Base(words[0])
}
