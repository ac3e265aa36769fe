package lockfile

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// format formats a block with its comments as OpenTofu does, without the line ending.
func format(s Selection, n notes, newline string) string {
	w := &writer{notes: n, newline: newline}
	w.line("", placeStart, "provider "+quote(s.Address.String())+" {")
	constraints := s.Constraints.String()
	version := "version = "
	if constraints != "" { // aligns the two arguments
		version = "version     = "
	}
	w.line("  ", argVersion, version+quote(s.Version.String()))
	if constraints != "" {
		w.line("  ", argConstraints, "constraints = "+quote(constraints))
	} else {
		w.gone(argConstraints)
	}
	w.hashes(s.Hashes)
	w.comments("  ", placeEnd)
	w.b.WriteString("}")
	return w.b.String()
}

func quote(s string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes())
}

// writer writes a block line by line.
type writer struct {
	b       strings.Builder
	notes   notes
	newline string
	// kept lists the comments above removed lines.
	kept []string
}

// line writes the line of a place, with the comments above the line and at its end.
func (w *writer) line(indent, place, text string) {
	w.comments(indent, place)
	w.b.WriteString(indent + text)
	if n := w.notes[place]; n != nil {
		for _, comment := range n.trailing {
			w.b.WriteString(" " + comment)
		}
	}
	w.b.WriteString(w.newline)
}

func (w *writer) comments(indent, place string) {
	w.gone(place)
	for _, comment := range w.kept {
		w.b.WriteString(indent + comment + w.newline)
	}
	w.kept = nil
}

// gone keeps the comments above a removed place. They are written above the next line.
func (w *writer) gone(place string) {
	if n := w.notes[place]; n != nil {
		w.kept = append(w.kept, n.above...)
	}
}

func (w *writer) hashes(hashes []Hash) {
	// Include removed hashes, so that the comments above them are kept.
	all := slices.Clone(hashes)
	for place := range w.notes {
		if h, is := strings.CutPrefix(place, placeHash); is {
			all = append(all, Hash(h))
		}
	}
	slices.Sort(all)
	if len(hashes) > 0 {
		w.line("  ", argHashes, "hashes = [")
	} else {
		w.gone(argHashes)
	}
	for _, h := range slices.Compact(all) {
		if _, is := slices.BinarySearch(hashes, h); is {
			w.line("    ", placeHash+string(h), quote(string(h))+",")
		} else {
			w.gone(placeHash + string(h))
		}
	}
	if len(hashes) == 0 {
		w.gone(placeHashesEnd)
		return
	}
	w.comments("    ", placeHashesEnd)
	w.b.WriteString("  ]")
	if n := w.notes[placeHashesEnd]; n != nil && len(n.trailing) > 0 {
		w.b.WriteString(" " + strings.Join(n.trailing, " "))
	}
	w.b.WriteString(w.newline)
}
