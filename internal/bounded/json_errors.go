package bounded

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// JSONError rewords the errors of encoding/json that mention Go types or internal
// states, and wraps them. Of the document, it shows at most the invalid character. It
// returns other errors unchanged.
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

// syntaxProblem describes where a document becomes invalid.
func syntaxProblem(err *json.SyntaxError) string {
	rest, found := strings.CutPrefix(err.Error(), "invalid character ")
	character, noCharacter := strconv.QuotedPrefix(rest)
	switch {
	case err.Error() == "unexpected end of JSON input":
		return "unexpected end of JSON"
	case !found || noCharacter != nil:
		return fmt.Sprintf("it is no JSON at byte %d", err.Offset)
	case character == `'\n'`:
		return "a line break is out of place"
	}
	return character + " is out of place"
}

// rewordedError is an error with a different message.
type rewordedError struct {
	text string
	err  error
}

func (e *rewordedError) Error() string { return e.text }

func (e *rewordedError) Unwrap() error { return e.err }
