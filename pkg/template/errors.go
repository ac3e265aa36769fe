package template

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ReferenceError reports that a valid template does not produce a valid reference for an
// address.
type ReferenceError struct {
	// Template is the text of the template.
	Template string
	// Address is the address for which the template was evaluated. The type of a module's
	// address is NAME/SYSTEM.
	Address provider.Address
	// Result is the result of the evaluation. It is empty if the evaluation failed.
	Result string
	// Component is the invalid part of Result.
	Component string
	// Problem describes the problem with Component or, if Component is empty, with the
	// template. It has no final period.
	Problem string
}

// Error hides passwords.
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

// Kind returns [provider.Misuse].
func (e *ReferenceError) Kind() provider.ErrorKind { return provider.Misuse }

// fault is a violation of this package's rules. The exported errors add the parsed text
// to it.
type fault struct {
	// at is the offset of the problem.
	at int
	// component is the invalid part if the text has parts.
	component string
	problem   string
}

func (f *fault) syntax(what, input string, offset int) *provider.SyntaxError {
	return &provider.SyntaxError{What: what, Input: input, Offset: offset + f.at, Problem: f.problem}
}
