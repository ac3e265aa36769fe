package lockfile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Places in a block that can have comments, in addition to argument names and hashes.
const (
	placeStart     = "{"
	placeHash      = "hash "
	placeHashesEnd = "]"
	placeEnd       = "}"
)

// notes maps places in a block to their comments.
type notes map[string]*note

type note struct {
	// above lists comments before the place. trailing lists comments at the end of its
	// line.
	above, trailing []string
}

// span is the range of a place in the block's text.
type span struct {
	place      string
	start, end int
}

// notesOf parses a block and returns its comments.
func notesOf(block string) notes {
	parsed, _ := hclsyntax.ParseConfig([]byte(block), "", hcl.InitialPos)
	body, ok := parsed.Body.(*hclsyntax.Body)
	if !ok || len(body.Blocks) != 1 {
		return nil
	}
	spans := spansOf(body.Blocks[0])
	all := notes{}
	tokens, _ := hclsyntax.LexConfig([]byte(block), "", hcl.InitialPos)
	for _, t := range tokens {
		if t.Type == hclsyntax.TokenComment {
			all.add(block, spans, t)
		}
	}
	return all
}

// add assigns a comment to the place that contains the comment. If no place contains
// the comment, add assigns it to the preceding place on the same line. If the line has
// no preceding place, add assigns it to the next place.
func (all notes) add(block string, spans []span, comment hclsyntax.Token) {
	at := comment.Range.Start.Byte
	text := strings.TrimRight(string(comment.Bytes), "\r\n")
	next := slices.IndexFunc(spans, func(s span) bool { return s.end > at })
	if next < 0 {
		next = len(spans) - 1
	}
	before := max(next-1, 0)
	switch {
	case spans[next].place == placeStart:
		all.at(placeStart).addTrailing(text)
	case spans[next].start > at && !strings.Contains(block[spans[before].end:at], "\n"):
		all.at(spans[before].place).addTrailing(text)
	default:
		n := all.at(spans[next].place)
		n.above = append(n.above, text)
	}
}

// addTrailing adds a comment at the end of the line or, if an earlier comment already
// extends to the end of the line, above the line. Duplicate hashes can cause this.
func (n *note) addTrailing(text string) {
	if len(n.trailing) > 0 && !strings.HasPrefix(n.trailing[len(n.trailing)-1], "/*") {
		n.above = append(n.above, text)
		return
	}
	n.trailing = append(n.trailing, text)
}

func (all notes) at(place string) *note {
	if all[place] == nil {
		all[place] = &note{}
	}
	return all[place]
}

// spansOf returns the places of a block in order.
func spansOf(b *hclsyntax.Block) []span {
	spans := []span{
		{placeStart, b.TypeRange.Start.Byte, b.OpenBraceRange.End.Byte},
		{placeEnd, b.CloseBraceRange.Start.Byte, b.CloseBraceRange.End.Byte},
	}
	for name, a := range b.Body.Attributes {
		s := span{name, a.SrcRange.Start.Byte, a.SrcRange.End.Byte}
		if list, ok := a.Expr.(*hclsyntax.TupleConsExpr); ok {
			spans = append(spans, hashSpans(list)...)
			s.end = list.OpenRange.End.Byte
		}
		spans = append(spans, s)
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	return spans
}

func hashSpans(list *hclsyntax.TupleConsExpr) []span {
	end := list.SrcRange.End.Byte
	spans := []span{{placeHashesEnd, end - 1, end}}
	var r reading
	for _, e := range list.Exprs {
		if text, ok := r.text(e); ok {
			spans = append(spans, span{placeHash + text, e.Range().Start.Byte, e.Range().End.Byte})
		}
	}
	return spans
}
