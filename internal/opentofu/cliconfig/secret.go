package cliconfig

import (
	"fmt"
	"io"
)

// Secret is a token or password. It prints as "***" whatever the verb, and in
// JSON too; string(s) is what it holds.
type Secret string

const hidden = "***"

// String gives "***", or nothing where there is nothing to hide.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// Format writes what [Secret.String] gives, for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText gives what [Secret.String] gives.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
