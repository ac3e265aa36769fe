package bounded

import (
	"encoding/json"
	"errors"
	"fmt"
)

// MaxDepth limits the nesting of arrays and objects. Real documents have about six
// levels.
const MaxDepth = 64

// ErrJSONLimit means that a document exceeds a limit.
var ErrJSONLimit = errors.New("JSON exceeds")

// DecodeJSON decodes a document that contains at most the given number of values.
// Values are strings, numbers, literals, arrays, and objects, including nested values.
// Limiting only the bytes would not limit memory: "{}," is three bytes long, but as an
// element of a slice of structs, it requires more than a hundred bytes. Like OpenTofu,
// DecodeJSON uses encoding/json, so both programs interpret the same bytes identically.
// If a key is repeated, its last value applies, and keys are case-insensitive.
// DecodeJSON returns [ErrJSONLimit] and the errors from [JSONError].
func DecodeJSON(data []byte, into any, values int) error {
	if err := CheckJSON(data, values); err != nil {
		return err
	}
	return JSONError(json.Unmarshal(data, into))
}

// CheckJSON returns [ErrJSONLimit] if a document contains more than the given number of
// values or exceeds [MaxDepth]. It does not detect invalid JSON.
func CheckJSON(data []byte, values int) error {
	count, depth := 1, 0
	opened := false // set at the start of an array or object
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
