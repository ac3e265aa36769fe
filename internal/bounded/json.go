package bounded

import (
	"encoding/json"
	"errors"
	"fmt"
)

// MaxDepth bounds the nesting of arrays and objects. Documents of the field have
// some six levels.
const MaxDepth = 64

// ErrJSONLimit is what errors about a document wrap that has more in it than is decoded.
var ErrJSONLimit = errors.New("it has")

// DecodeJSON decodes a document of at most so many values: strings, numbers,
// literals, arrays, and objects, each with what it holds. A limit in bytes does not bound
// memory: "{}," has three bytes, and more than a hundred as an element of a slice of
// structs. It uses encoding/json as OpenTofu does, so both programs read the same bytes
// alike: the last of duplicate keys counts, and the case of keys does not matter. Errors are [ErrJSONLimit]
// and those of [JSONError].
func DecodeJSON(data []byte, into any, values int) error {
	if err := CheckJSON(data, values); err != nil {
		return err
	}
	return JSONError(json.Unmarshal(data, into))
}

// CheckJSON counts the values of a document. What is no JSON passes or not, and is
// found by whoever decodes it. Errors are [ErrJSONLimit].
func CheckJSON(data []byte, values int) error {
	count, depth := 1, 0
	opened := false // an array or object, of which nothing was seen yet
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
			return fmt.Errorf("%w more than %d values", ErrJSONLimit, values)
		case depth > MaxDepth:
			return fmt.Errorf("%w more than %d levels", ErrJSONLimit, MaxDepth)
		}
	}
	return nil
}

// endOfString returns the position of the quote that ends a string, or that behind
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
