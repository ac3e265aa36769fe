package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

const (
	// documentForm changes when the meaning of a field does; fields may be added.
	documentForm = 1
	// schemas is where the schemas are, for who reads a document without this program.
	schemas = "https://raw.githubusercontent.com/tofu-oci/tofu-oci/main/docs/schema/"
)

// Print prints the one result of a command: the document, or its text.
func (o *Report) Print(name string, v any, text string) error {
	if o.json {
		return o.printDocument(name, v)
	}
	_, err := io.WriteString(o.stdout, Printable(text))
	return err
}

// printDocument prints the one object of --output json, with the schema that says
// what is in it.
func (o *Report) printDocument(name string, v any) error {
	return o.printJSON(fmt.Sprintf("{\n  \"$schema\": \"%s%s.schema.json\",\n  \"schema\": %d,", schemas, name, documentForm), v)
}

// printJSON prints an object, which begins with a text.
func (o *Report) printJSON(begin string, v any) error {
	text, err := encoded(v, "  ")
	if err == nil {
		_, err = io.WriteString(o.stdout, begin+strings.TrimPrefix(text, "{"))
	}
	return err
}

func encoded(v any, indent string) (string, error) {
	var document strings.Builder
	encoder := json.NewEncoder(&document)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return printableJSON(document.String()), err
}
