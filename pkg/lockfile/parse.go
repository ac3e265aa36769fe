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

// maxSize bounds a lock file, in bytes: a provider takes some two kilobytes. HCL's
// parser takes up to three hundred times as much memory.
const maxSize = 2 << 20

// Read reads the lock file at path. Errors are [ErrSyntax], those of the file system,
// such as [fs.ErrNotExist], and *[bounded.TooLargeError].
func Read(path string) (*File, error) {
	data, err := bounded.ReadFile(path, maxSize)
	if err != nil {
		return nil, fmt.Errorf("reading the lock file: %w", err)
	}
	return Parse(path, data)
}

// Parse reads the text of a lock file; name is the file's, for errors. No text at
// all is an empty file. The error is [ErrSyntax] with the first place that
// OpenTofu refuses. Loops within values, which OpenTofu would run, are refused too.
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
	if len(r.problems) > 0 {
		first := slices.MinFunc(r.problems, func(a, b *stricthcl.Error) int { return a.Compare(b.Position) })
		return nil, fmt.Errorf("%w: %w", ErrSyntax, first)
	}
	return split(data, found), nil
}

// reading collects what is wrong with a lock file.
type reading struct {
	name     string
	problems []*stricthcl.Error
}

func (r *reading) fail(at hcl.Range, format string, a ...any) {
	at.Filename = r.name
	r.problems = append(r.problems, &stricthcl.Error{Position: stricthcl.PositionOf(at), Problem: fmt.Sprintf(format, a...)})
}

// diagnose takes over the errors of the HCL library.
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

// located is a provider's block and where it is.
type located struct {
	selection Selection
	// start is the first byte of "provider", brace that of what closes the block.
	start, brace int
}

// root reads what stands in no block.
func (r *reading) root(body *hclsyntax.Body) []located {
	for name, a := range body.Attributes {
		r.fail(a.NameRange, "an argument has no place here, outside of blocks: %q", name)
	}
	lines := map[provider.Address]int{}
	var found []located
	for _, b := range body.Blocks {
		switch {
		case b.Type != "provider" && b.Type != "module":
			r.fail(b.TypeRange, "blocks of type %q are not expected here", b.Type)
		case len(b.Labels) != 1:
			r.fail(b.TypeRange, "a %s block has one label", b.Type)
		case b.Type == "module":
			// OpenTofu warns of it, for the day when modules can be locked.
		default:
			s := r.provider(b)
			s.Line = b.TypeRange.Start.Line
			if before, is := lines[s.Address]; is && s.Address != (provider.Address{}) {
				r.fail(b.TypeRange, "provider %s is locked already, in line %d", s.Address, before)
			}
			lines[s.Address] = b.TypeRange.Start.Line
			found = append(found, located{s, b.TypeRange.Start.Byte, b.CloseBraceRange.Start.Byte})
		}
	}
	return found
}

// split divides the text among the blocks.
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
