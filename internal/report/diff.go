package report

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
)

// UnifiedDiff returns a file's changes as a unified diff. It is empty if nothing
// changed.
func UnifiedDiff(name string, before, after []byte) string {
	// The first line is a diff command, which is not part of the format.
	_, unified, _ := bytes.Cut(diff.Diff(name, before, name, after), []byte("\n"))
	return string(unified)
}
