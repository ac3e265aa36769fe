package logins

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unique"
)

// hidden stands for a secret wherever one is printed.
const hidden = "(hidden)"

// Secret is a password or token. Printed by any verb of fmt, or as JSON, it is
// "(hidden)", or nothing when it is empty; only [Secret.Reveal] tells it. Secrets
// are comparable by ==, and the zero value is the empty one.
type Secret struct {
	// handle keeps the value out of reach of reflection as well: fmt prints the
	// unexported fields of other types without asking for their methods.
	handle unique.Handle[string]
}

// NewSecret makes a secret of a text.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{handle: unique.Make(value)}
}

// IsEmpty reports whether there is no secret.
func (s Secret) IsEmpty() bool { return s == Secret{} }

// Reveal returns the secret itself: for the registry that it is for, and nobody
// else.
func (s Secret) Reveal() string {
	if s.IsEmpty() {
		return ""
	}
	return s.handle.Value()
}

// escape is a character of a JSON string in another form: \" or \u00e9.
var escape = regexp.MustCompile(`(?:\\u[0-9A-Fa-f]{4})+|\\["\\/bfnrt]`)

// isIn reports whether a text has the secret in it, as it is or as programs put it into
// JSON, with any characters escaped.
func (s Secret) isIn(text string) bool {
	if s.IsEmpty() {
		return false
	}
	plain := escape.ReplaceAllStringFunc(text, func(escaped string) string {
		var character string
		if err := json.Unmarshal([]byte(`"`+escaped+`"`), &character); err != nil {
			return escaped
		}
		return character
	})
	return strings.Contains(text, s.Reveal()) || strings.Contains(plain, s.Reveal())
}

// String returns "(hidden)", or "" for the empty secret.
func (s Secret) String() string {
	if s.IsEmpty() {
		return ""
	}
	return hidden
}

// GoString is [Secret.String] in quotes.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// Format prints [Secret.String] for every verb.
func (s Secret) Format(w fmt.State, verb rune) {
	text := s.String()
	if verb == 'q' || verb == 'v' && w.Flag('#') {
		text = s.GoString()
	}
	// Nobody is there to tell, and fmt's own writers don't fail.
	_, _ = io.WriteString(w, text)
}

// MarshalJSON returns [Secret.String] as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(s.GoString()), nil }
