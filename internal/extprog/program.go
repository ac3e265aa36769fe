// Package extprog runs external programs, such as SBOM generators and programs that
// create repositories. A program receives arguments, an environment, and optionally a
// JSON object of strings on stdin. If it succeeds, it prints a JSON object to stdout
// and exits with status 0. The running time and the output are limited. When a run
// ends, all processes of the program are killed.
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

// Program is a program and its arguments. The zero value contains no program.
type Program struct{ words []string }

// New returns a program. The first word is the program's name or path.
func New(words ...string) Program { return Program{words} }

// Words returns the program and its arguments, with their placeholders. The caller must
// not modify the result.
func (p Program) Words() []string { return p.words }

// placeholder matches a word in braces.
var placeholder = regexp.MustCompile(`\{([a-zA-Z_-]+)\}`)

// Parse parses a command line. It splits and quotes words like a POSIX shell
// (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02),
// but no shell is run. The characters $, `, *, and ~ are literal, and unquoted shell
// operators are rejected. A backslash escapes the next character on Windows as well, so
// paths with backslashes must be in single quotes. Parse rejects a {word} that is not a
// placeholder. All other braces are literal. The returned errors are of type
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
		problem := fmt.Sprintf("unknown placeholder {%s}; valid placeholders are {%s}", name, strings.Join(placeholders, "}, {"))
		if meant, found := text.Nearest(name, placeholders); found {
			problem = fmt.Sprintf("unknown placeholder {%s}; did you mean {%s}?", name, meant)
		}
		return Program{}, &provider.SyntaxError{What: "command line", Input: commandLine, Offset: at[0], Problem: problem}
	}
	return New(words...), nil
}

// Name returns the program's file name. It omits directories and arguments, because
// arguments can contain secrets.
func (p Program) Name() string {
	if len(p.words) == 0 {
		return ""
	}
	return filepath.Base(p.words[0])
}
