package text

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unique"
)

// Secret is a password or token. fmt and JSON print it as "***", or as an empty string
// if it is empty. Only [Secret.Reveal] returns its value. Secrets can be compared with
// ==. The zero value is the empty secret.
type Secret struct {
	// handle hides the value from reflection, because fmt prints unexported fields of
	// enclosing types without calling their methods.
	handle unique.Handle[string]
}

// NewSecret returns a secret with the given value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{handle: unique.Make(value)}
}

// IsEmpty reports whether the secret is empty.
func (s Secret) IsEmpty() bool { return s == Secret{} }

// Reveal returns the value of the secret.
func (s Secret) Reveal() string {
	if s.IsEmpty() {
		return ""
	}
	return s.handle.Value()
}

// escape matches escaped characters of a JSON string, such as \" or \u00e9.
var escape = regexp.MustCompile(`(?:\\u[0-9A-Fa-f]{4})+|\\["\\/bfnrt]`)

// IsIn reports whether text contains the secret, either literally or with characters
// escaped as in a JSON string.
func (s Secret) IsIn(output string) bool {
	if s.IsEmpty() {
		return false
	}
	plain := escape.ReplaceAllStringFunc(output, func(escaped string) string {
		var character string
		if err := json.Unmarshal([]byte(`"`+escaped+`"`), &character); err != nil {
			return escaped
		}
		return character
	})
	return strings.Contains(output, s.Reveal()) || strings.Contains(plain, s.Reveal())
}

// String returns "***", or "" for the empty secret.
func (s Secret) String() string {
	if s.IsEmpty() {
		return ""
	}
	return hidden
}

// GoString returns [Secret.String] in quotes.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// Format prints [Secret.String] for every verb.
func (s Secret) Format(w fmt.State, verb rune) {
	shown := s.String()
	if verb == 'q' || verb == 'v' && w.Flag('#') {
		shown = s.GoString()
	}
	// Format cannot report an error, and fmt's writers never fail.
	_, _ = io.WriteString(w, shown)
}

// MarshalJSON returns [Secret.String] as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(s.GoString()), nil }
