package bounded

import (
	"encoding/json"
	"errors"
	"fmt"
)

// MaxDepth limits the nesting of arrays and objects. Real documents have about six
// levels.
const MaxDepth = 64

// ErrJSONLimit is wrapped by errors about documents that exceed a limit.
var ErrJSONLimit = errors.New("JSON exceeds")

// DecodeJSON decodes a document with at most the given number of values: strings,
// numbers, literals, arrays, and objects, including nested ones. Limiting the bytes
// alone does not limit memory, because "{}," has three bytes but needs more than a
// hundred as an element of a slice of structs. DecodeJSON uses encoding/json like
// OpenTofu, so both programs interpret the same bytes identically: the last of
// duplicate keys wins, and keys are case-insensitive. It returns [ErrJSONLimit] and the
// errors of [JSONError].
func DecodeJSON(data []byte, into any, values int) error {
	if err := CheckJSON(data, values); err != nil {
		return err
	}
	return JSONError(json.Unmarshal(data, into))
}

// CheckJSON counts the values of a document and returns [ErrJSONLimit] if they exceed a
// limit. It does not detect invalid JSON.
func CheckJSON(data []byte, values int) error {
	count, depth := 1, 0
	opened := false // at the start of an array or object
	for i := 0; i < len(data); i++ {
		c := data[i]
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			continue
		}
		if opened && c != ']' && c != '}' {
			count++
		}
		opened = c == '[' || c == '{'
		switch c {
		case '"':
			i = endOfString(data, i+1)
		case ',':
			count++
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		switch {
		case count > values:
			return fmt.Errorf("%w %d values", ErrJSONLimit, values)
		case depth > MaxDepth:
			return fmt.Errorf("%w %d levels", ErrJSONLimit, MaxDepth)
		}
	}
	return nil
}

// endOfString returns the position of the quote that ends a string, or the length of
// the data.
func endOfString(data []byte, i int) int {
	for ; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return i
}
