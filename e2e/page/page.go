// Package page inserts measurements into Markdown files.
package page

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Begin returns the comment after which a make target writes its output.
func Begin(target string) string { return "<!-- make " + target + " writes from here -->\n" }

// End is the comment that marks the end of a make target's output.
const End = "<!-- to here -->\n"

// Write writes text between the comments of a target in a file.
func Write(file, target, text string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	replaced, err := Between(string(page), target, text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(replaced), 0o600)
}

// Between returns page with text inserted between the comments of a target.
func Between(page, target, text string) (string, error) {
	before, rest, hasBegin := strings.Cut(page, Begin(target))
	_, after, hasEnd := strings.Cut(rest, End)
	if !hasBegin || !hasEnd {
		return "", fmt.Errorf("the markers are missing: %s%s", Begin(target), End)
	}
	return before + Begin(target) + "\n" + text + "\n" + End + after, nil
}

// Median returns the median. For an even number of values, it returns the greater of
// the two middle values.
func Median[T cmp.Ordered](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
