package report

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
)

// UnifiedDiff returns the change of a file in the unified format, which patch reads. It is
// empty if nothing changed.
func UnifiedDiff(name string, before, after []byte) string {
	// The first line is the command that would print the rest.
	_, unified, _ := bytes.Cut(diff.Diff(name, before, name, after), []byte("\n"))
	return string(unified)
}
