package bounded

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// JSONError rewords the errors of encoding/json about Go's types and its own states, and
// wraps them. Of the text it shows only the character that does not belong there. Other
// errors stay as they are.
func JSONError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := wrong.Field
		if field == "" {
			field = "the document"
		}
		return &rewordedError{field + " is of another kind: " + wrong.Value, err}
	}
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &rewordedError{syntaxProblem(wrong), err}
	}
	return err
}

// syntaxProblem says where a text stops being JSON.
func syntaxProblem(err *json.SyntaxError) string {
	rest, found := strings.CutPrefix(err.Error(), "invalid character ")
	character, noCharacter := strconv.QuotedPrefix(rest)
	switch {
	case err.Error() == "unexpected end of JSON input":
		return "it ends too early"
	case !found || noCharacter != nil:
		return fmt.Sprintf("it is no JSON at byte %d", err.Offset)
	case character == `'\n'`:
		return "a line break is out of place"
	}
	return character + " is out of place"
}

// rewordedError is an error with another text.
type rewordedError struct {
	text string
	err  error
}

func (e *rewordedError) Error() string { return e.text }

func (e *rewordedError) Unwrap() error { return e.err }
