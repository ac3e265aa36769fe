//go:build unix

package main

import (
	"fmt"
	"os"
	"strings"
)

// The marker comments between which the tables stand in a page.
const (
	pageBegin = "<!-- make bench-peers writes from here -->\n"
	pageEnd   = "<!-- to here -->\n"
)

// writePage puts a text between the markers of a file.
func writePage(file, text string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	replaced, err := between(string(page), text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(replaced), 0o600)
}

func between(page, text string) (string, error) {
	before, rest, hasBegin := strings.Cut(page, pageBegin)
	_, after, hasEnd := strings.Cut(rest, pageEnd)
	if !hasBegin || !hasEnd {
		return "", fmt.Errorf("the markers are missing: %s%s", pageBegin, pageEnd)
	}
	return before + pageBegin + "\n" + text + "\n" + pageEnd + after, nil
}
