package template

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ReferenceError says that a template, sound in itself, gives no usable
// reference for an address.
type ReferenceError struct {
	// Template is the template's text.
	Template string
	// Address is what it was evaluated for.
	Address provider.Address
	// Result is the evaluated text, empty when the evaluation itself went wrong.
	Result string
	// Component is the part of Result at fault.
	Component string
	// Problem says what is wrong with Component, or with the template when there
	// is none: a sentence without its full stop.
	Problem string
}

// Error does not show a password in front of a registry's host.
func (e *ReferenceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "repository template %q for %s: ", text.RedactUserinfo(e.Template), e.Address)
	if e.Result != "" && e.Result != e.Template {
		fmt.Fprintf(&b, "%q: ", text.RedactUserinfo(e.Result))
	}
	if e.Component != "" && e.Component != cmp.Or(e.Result, e.Template) {
		fmt.Fprintf(&b, "%q: ", e.Component)
	}
	b.WriteString(e.Problem)
	return b.String()
}

// Kind is [provider.Misuse].
func (e *ReferenceError) Kind() provider.ErrorKind { return provider.Misuse }

// fault is what the rules of this package find; the exported errors add what
// was being read.
type fault struct {
	// at is the byte where the problem starts.
	at int
	// component is the part at fault, where there are parts.
	component string
	problem   string
}

func (f *fault) syntax(what, input string, offset int) *provider.SyntaxError {
	return &provider.SyntaxError{What: what, Input: input, Offset: offset + f.at, Problem: f.problem}
}
