package text

import (
	"fmt"
	"strings"
)

// List joins words with commas and a conjunction, as in "a, b, and c" or "a or b".
func List(words []string, conjunction string) string {
	if last := len(words) - 1; last > 1 {
		return strings.Join(words[:last], ", ") + ", " + conjunction + " " + words[last]
	}
	return strings.Join(words, " "+conjunction+" ")
}

// Strings returns the result of String for each value.
func Strings[T fmt.Stringer](values []T) (all []string) {
	for _, value := range values {
		all = append(all, value.String())
	}
	return all
}
