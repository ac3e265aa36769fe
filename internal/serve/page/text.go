package page

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How much of a text of others a page shows, in bytes of HTML. A page of a list has
// some dozens of them, and less than 50 kB.
const (
	limitTiny = 24
	limitWord = 80
	limitLine = 240
	limitText = 400
)

// maxMarks is how many combining characters may stand on one character. Written
// languages have up to four.
const maxMarks = 4

// Visible returns a text of others as one line that only shows itself: control
// characters and those that change the direction of writing are named, invisible ones
// too, and what is longer than limit bytes of HTML is cut, with its size behind.
func Visible(s string, limit int) string {
	var b strings.Builder
	marks, used, whole := 0, 0, len(s)
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		if marks++; !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
		}
		if marks > maxMarks {
			used++ // it shows nothing, and counts: a megabyte of them is a long text
		}
		shown := shownAs(r, b.Len() == 0, marks)
		if used += cost(shown); used > limit {
			return b.String() + fmt.Sprintf("… (%s)", formatSize(int64(whole)))
		}
		b.WriteString(shown)
	}
	return b.String()
}

// shownAs returns what stands for a character.
func shownAs(r rune, firstOf bool, marks int) string {
	switch {
	case marks > maxMarks+1:
		return ""
	case marks > maxMarks:
		return "[marks]"
	case r < ' ':
		return string('\u2400' + r) // the pictures of control characters
	case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return fmt.Sprintf("[U+%04X]", r)
	case firstOf && unicode.In(r, unicode.Mn, unicode.Me):
		return "\u25CC" + string(r) // else it would stand on what is before the text
	}
	return string(r)
}

// cost is how many bytes a text has at most once html/template has escaped it.
func cost(s string) int {
	const escaped = len("&#34;")
	return len(s) + strings.Count(s, "&")*(escaped-1) + (escaped-1)*len(strings.Map(onlyEscaped, s))
}

func onlyEscaped(r rune) rune {
	if strings.ContainsRune(`<>"'+`, r) {
		return r
	}
	return -1
}
