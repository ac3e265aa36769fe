package text

import "strings"

// Nearest returns the most similar word. A word is similar if at most a third of its
// letters, but not all of them, are wrong, missing, added, or swapped with their
// neighbors. If several words are equally similar, Nearest returns the first of them.
// If no word is similar, Nearest returns the only word that starts with written, or
// false. The comparison is case-insensitive.
func Nearest(written string, words []string) (string, bool) {
	best, least := "", max(1, len([]rune(written))/3)+1
	for _, word := range words {
		if d := distance(strings.ToLower(written), strings.ToLower(word)); d < least && d < len(word) {
			best, least = word, d
		}
	}
	if best != "" {
		return best, true
	}
	return unfinished(written, words)
}

// unfinished returns the only word that starts with the given text.
func unfinished(written string, words []string) (string, bool) {
	const least = 3 // fewer letters are ambiguous
	found := ""
	for _, word := range words {
		if len(written) >= least && strings.HasPrefix(strings.ToLower(word), strings.ToLower(written)) {
			if found != "" {
				return "", false
			}
			found = word
		}
	}
	return found, found != ""
}

// maxLength limits the length of compared words, because a comparison takes quadratic
// time.
const maxLength = 64

// distance returns the number of letters to insert, remove, replace, or swap with their
// neighbors to convert one word into the other (optimal string alignment).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	if len(s) > maxLength || len(t) > maxLength {
		return max(len(s), len(t))
	}
	before, last, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(s); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(t); j++ {
			wrong := 1
			if s[i-1] == t[j-1] {
				wrong = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+wrong)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(t)]
}
