package bounded

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// JSONError makes a *[TypeError] of what encoding/json says about Go's types, and a
// *[SyntaxError] of what it says about its own states. Other errors stay as they are.
func JSONError(err error) error {
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &TypeError{other}
	}
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &SyntaxError{wrong}
	}
	return err
}

// TypeError says that a document has something else in a place than belongs there, in
// the words of JSON and not of Go. It wraps the *[json.UnmarshalTypeError].
type TypeError struct{ err *json.UnmarshalTypeError }

func (e *TypeError) Error() string {
	if e.err.Field == "" {
		return "the document is of another kind: " + e.err.Value
	}
	return fmt.Sprintf("%s is of another kind: %s", e.err.Field, e.err.Value)
}

func (e *TypeError) Unwrap() error { return e.err }

// SyntaxError says where a text stops being JSON: by the character that does not belong
// there, and no more of the text. It wraps the *[json.SyntaxError].
type SyntaxError struct{ err *json.SyntaxError }

func (e *SyntaxError) Error() string {
	text := e.err.Error()
	rest, found := strings.CutPrefix(text, "invalid character ")
	character, err := strconv.QuotedPrefix(rest)
	switch {
	case text == "unexpected end of JSON input":
		return "it ends too early"
	case !found || err != nil:
		return fmt.Sprintf("it is no JSON at byte %d", e.err.Offset)
	case character == `'\n'`:
		return "a line break is out of place"
	}
	return character + " is out of place"
}

func (e *SyntaxError) Unwrap() error { return e.err }
