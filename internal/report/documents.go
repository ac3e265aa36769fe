package report

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

// schemas is the URL of the directory that contains the JSON Schemas. Its last part is
// the version of the documents. The version changes if a field is removed or a field's
// meaning changes, but not if fields are added.
const schemas = "https://raw.githubusercontent.com/tofu-oci/tofu-oci/main/docs/schema/v2/"

// document is the envelope of every JSON document. I is the type of the items, and S is
// the type of the summary.
type document[I, S any] struct {
	Schema  string `json:"$schema"`
	Items   []I    `json:"items"`
	Summary S      `json:"summary"`
	// Unread contains the errors about files and lines that could not be read.
	Unread []*outcome.ErrorItem `json:"unread,omitempty"`
}

// none is the empty summary of documents that need no summary.
type none struct{}

// printItems prints a command's result as text or as a JSON document. schema is the
// name of the document's schema.
func printItems[I, S any](o *Report, schema string, items []I, summary S, text string) error {
	if !o.json {
		_, err := io.WriteString(o.stdout, Printable(text))
		return err
	}
	return o.printJSON(document[I, S]{schemas + schema + ".schema.json", append([]I{}, items...), summary, o.unread})
}

// printJSON prints an indented JSON object.
func (o *Report) printJSON(v any) error {
	text, err := encoded(v, "  ")
	if err == nil {
		_, err = io.WriteString(o.stdout, text)
	}
	return err
}

func encoded(v any, indent string) (string, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return text.PrintableJSON(b.String()), err
}

// UnifiedDiff returns a file's changes as a unified diff. It is empty if nothing
// changed.
func UnifiedDiff(name string, before, after []byte) string {
	// The first line is a diff command, which is not part of the format.
	_, unified, _ := bytes.Cut(diff.Diff(name, before, name, after), []byte("\n"))
	return string(unified)
}
