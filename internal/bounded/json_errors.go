package bounded

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// JSONError rewords and wraps errors from encoding/json that mention Go types or
// internal states. The new message reveals at most one invalid character of the
// document. JSONError returns any other error unchanged.
func JSONError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := wrong.Field
		if field == "" {
			field = "document"
		}
		return text.WithText(err, field+" has the wrong type: "+wrong.Value)
	}
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return text.WithText(err, syntaxProblem(wrong))
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
		return fmt.Sprintf("invalid JSON at byte %d", err.Offset)
	case character == `'\n'`:
		return "unexpected line break"
	}
	return "unexpected " + character
}
