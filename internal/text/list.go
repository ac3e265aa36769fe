package text

import "strings"

// List joins words with commas and a conjunction, as in "a, b, and c" or "a or b".
func List(words []string, conjunction string) string {
	if last := len(words) - 1; last > 1 {
		return strings.Join(words[:last], ", ") + ", " + conjunction + " " + words[last]
	}
	return strings.Join(words, " "+conjunction+" ")
}
