package page

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// These constants limit untrusted strings, in bytes of HTML. A list page contains
// dozens of untrusted strings and is smaller than 50 kB.
const (
	limitTiny = 24
	limitWord = 80
	limitLine = 240
	limitText = 400
)

// maxMarks limits the number of combining characters that follow a character. Written
// languages use up to four.
const maxMarks = 4

// Visible returns an untrusted string as one line without hidden effects. It replaces
// control characters, invisible characters, and characters that change the writing
// direction with visible names. If the string is longer than limit bytes of HTML,
// Visible truncates it and appends the original size.
func Visible(s string, limit int) string {
	var b strings.Builder
	marks, used, total := 0, 0, len(s)
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		if marks++; !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
		}
		if marks > maxMarks {
			used++ // count invisible characters, because a megabyte of them is a long text
		}
		shown := shownAs(r, b.Len() == 0, marks)
		if used += cost(shown); used > limit {
			return b.String() + fmt.Sprintf("… (%s)", formatSize(int64(total)))
		}
		b.WriteString(shown)
	}
	return b.String()
}

// shownAs returns the replacement for a character.
func shownAs(r rune, isFirst bool, marks int) string {
	switch {
	case marks > maxMarks+1:
		return ""
	case marks > maxMarks:
		return "[marks]"
	case r < ' ':
		return string('\u2400' + r) // Unicode's control pictures
	case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return fmt.Sprintf("[U+%04X]", r)
	case isFirst && unicode.In(r, unicode.Mn, unicode.Me):
		return "\u25CC" + string(r) // without a base, the mark would combine with the preceding character
	}
	return string(r)
}

// cost returns the maximum size of a string in bytes after html/template has escaped
// it.
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
