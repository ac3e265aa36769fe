package lockfile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// bom may stand at a file's start.
const bom = "\xef\xbb\xbf"

// tokenAt is the index of the token at a byte of the file.
func tokenAt(tokens hclsyntax.Tokens, at int) int {
	i, _ := slices.BinarySearchFunc(tokens, at, func(t hclsyntax.Token, at int) int { return cmp.Compare(t.Range.Start.Byte, at) })
	return i
}

// tailEnd finds where the line of a closing brace ends: after comments, which may
// have lines themselves.
func tailEnd(tokens hclsyntax.Tokens, brace int) int {
	i := tokenAt(tokens, brace) + 1
	for tokens[i].Type == hclsyntax.TokenComment && !endsLine(tokens[i]) {
		i++
	}
	return tokens[i].Range.End.Byte
}

func endsLine(t hclsyntax.Token) bool {
	return t.Type == hclsyntax.TokenNewline || t.Type == hclsyntax.TokenComment && strings.HasSuffix(string(t.Bytes), "\n")
}

// ownStart finds where the text begins that belongs to a block at start: its line
// and the comments right above it, without a blank line between. A comment at the
// file's start is the file's.
func ownStart(text string, tokens hclsyntax.Tokens, from, start int) int {
	line, own := -1, start
	for i := tokenAt(tokens, start); ; {
		if i == 0 || endsLine(tokens[i-1]) {
			own = lineStart(text, from, tokens[i].Range.Start.Byte)
			if line < 0 {
				line = own
			}
		}
		i--
		if i > 0 && tokens[i].Type == hclsyntax.TokenNewline && !endsLine(tokens[i-1]) {
			i--
		}
		if i < 0 || tokens[i].Type != hclsyntax.TokenComment || tokens[i].Range.Start.Byte < from {
			break
		}
	}
	if strings.TrimPrefix(text[:own], bom) == "" {
		return max(line, own)
	}
	return own
}

// lineStart goes back over spaces.
func lineStart(text string, from, at int) int {
	return from + len(strings.TrimRight(text[from:at], " \t"))
}
