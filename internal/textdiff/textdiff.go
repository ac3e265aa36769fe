// Package textdiff shows how a text changes.
package textdiff

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff gives the change of a file in the unified format, as patch reads it, with
// the file's name on both sides. It is empty when nothing changes. The time it
// takes grows little faster than the texts.
func Diff(name string, before, after []byte) string {
	// The first line is the command that would have shown it.
	_, unified, _ := bytes.Cut(diff.Diff(name, before, name, after), []byte("\n"))
	return string(unified)
}
