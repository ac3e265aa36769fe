package lockfile

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxSize is the maximum size of a lock file in bytes. A block is about 2 KB long.
// HCL's parser uses up to 300 times as much memory as the size of the file.
const maxSize = 2 << 20

// Read reads and parses the lock file at path. It returns the errors of [Parse], file
// system errors such as [fs.ErrNotExist], and *[bounded.TooLargeError].
func Read(path string) (*File, error) {
	data, err := bounded.ReadFile(path, maxSize)
	if err != nil {
		return nil, fmt.Errorf("reading the lock file: %w", err)
	}
	return Parse(path, data)
}

// Parse parses a lock file. name is the file name for error messages. Empty data is
// parsed as an empty file. The error wraps [ErrSyntax] and contains the position of the
// first problem. If the problems are only in provider blocks, Parse also returns a File
// that omits these blocks. Unlike OpenTofu, Parse rejects loops in expressions.
func Parse(name string, data []byte) (*File, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("reading the lock file: %w", &bounded.TooLargeError{Path: name, Limit: maxSize})
	}
	if err := new(stricthcl.Budget).Check(name, data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	parsed, diags := hclsyntax.ParseConfig(data, name, hcl.InitialPos)
	r := reading{name: name}
	r.diagnose(diags)
	var found []located
	if body, ok := parsed.Body.(*hclsyntax.Body); ok && len(r.problems) == 0 {
		found = r.root(body)
	}
	if len(r.problems) == 0 {
		return split(data, found), nil
	}
	first := slices.MinFunc(r.problems, func(a, b *stricthcl.Error) int { return a.Compare(b.Position) })
	err := fmt.Errorf("%w: %w", ErrSyntax, first)
	if len(r.problems) > r.inBlocks {
		return nil, err
	}
	all := len(found)
	found = slices.DeleteFunc(found, func(l located) bool { return l.invalid })
	if invalid := all - len(found); invalid > 1 {
		err = fmt.Errorf("%w (the first of %d invalid blocks)", err, invalid)
	}
	return split(data, found), err
}

// reading collects the problems in a lock file.
type reading struct {
	name     string
	problems []*stricthcl.Error
	// inBlocks is the number of problems in provider blocks.
	inBlocks int
}

func (r *reading) fail(at hcl.Range, format string, a ...any) {
	at.Filename = r.name
	r.problems = append(r.problems, &stricthcl.Error{Position: stricthcl.PositionOf(at), Problem: fmt.Sprintf(format, a...)})
}

// diagnose adds the errors from the HCL library.
func (r *reading) diagnose(diags hcl.Diagnostics) {
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		at := hcl.Range{Start: hcl.InitialPos}
		if d.Subject != nil {
			at = *d.Subject
		}
		text := stricthcl.InLines(r.name, cmp.Or(d.Detail, d.Summary))
		r.fail(at, "%s", strings.TrimRight(strings.Join(strings.Fields(text), " "), "."))
	}
}

// located is a provider block with its position.
type located struct {
	selection Selection
	// start is the offset of "provider". brace is the offset of the closing brace.
	start, brace int
	// invalid reports whether the block has problems.
	invalid bool
}

// root checks the top level of the file, and decodes the provider blocks.
func (r *reading) root(body *hclsyntax.Body) []located {
	for name, a := range body.Attributes {
		r.fail(a.NameRange, "unexpected argument %q outside blocks", name)
	}
	first := map[provider.Address]int{} // the index of the block in found
	var found []located
	for _, b := range body.Blocks {
		switch {
		case b.Type != "provider" && b.Type != "module":
			r.fail(b.TypeRange, "blocks of type %q are not expected here", b.Type)
		case len(b.Labels) != 1:
			r.fail(b.TypeRange, "a %s block must have exactly one label", b.Type)
		case b.Type == "module":
			// OpenTofu only warns about module blocks, because future versions might
			// lock modules.
		default:
			s, valid := r.provider(b)
			s.Line = b.TypeRange.Start.Line
			if other, is := first[s.Address]; is && s.Address != (provider.Address{}) {
				r.fail(b.TypeRange, "provider %s is already locked on line %d", s.Address, found[other].selection.Line)
				r.inBlocks, valid, found[other].invalid = r.inBlocks+1, false, true // either block can be wrong
			} else {
				first[s.Address] = len(found)
			}
			found = append(found, located{s, b.TypeRange.Start.Byte, b.CloseBraceRange.Start.Byte, !valid})
		}
	}
	return found
}

// split splits the text into parts, one for each block.
func split(data []byte, found []located) *File {
	slices.SortFunc(found, func(a, b located) int { return cmp.Compare(a.start, b.start) })
	tokens, _ := hclsyntax.LexConfig(data, "", hcl.InitialPos)
	f := &File{newline: "\n"}
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		f.newline = "\r\n"
	}
	text := string(data)
	from := 0
	for _, l := range found {
		own := ownStart(text, tokens, from, l.start)
		end := tailEnd(tokens, l.brace)
		f.parts = append(f.parts, part{
			lead: text[from:own], own: text[own:l.start], block: text[l.start : l.brace+1], tail: text[l.brace+1 : end], selection: l.selection,
		})
		from = end
	}
	f.rest = text[from:]
	return f
}

// bom is the byte order mark, which can precede the text.
const bom = "\xef\xbb\xbf"

// tokenAt returns the index of the token at an offset.
func tokenAt(tokens hclsyntax.Tokens, at int) int {
	i, _ := slices.BinarySearchFunc(tokens, at, func(t hclsyntax.Token, at int) int { return cmp.Compare(t.Range.Start.Byte, at) })
	return i
}

// tailEnd returns the end of the line that contains a closing brace. Comments on the
// line can span several lines.
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

// ownStart returns the start of the text that belongs to a block. This text consists of
// the block's line and the comments directly above it. A comment at the start of the
// file belongs to the file.
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

// lineStart returns the offset of a line's start, before leading spaces.
func lineStart(text string, from, at int) int {
	return from + len(strings.TrimRight(text[from:at], " \t"))
}
