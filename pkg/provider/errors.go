package provider

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// Errors that implementations of [Source] return. Test for them with [errors.Is].
var (
	// ErrProviderNotFound is returned if the source does not have the provider.
	ErrProviderNotFound = Errorf(NotFound, "provider not found")
	// ErrVersionNotFound is returned if the source has the provider but not the version.
	ErrVersionNotFound = Errorf(NotFound, "version not found")
	// ErrWrongSource is returned if a package was created by a different source.
	ErrWrongSource = Errorf(Refused, "package belongs to a different source")
	// ErrForbidden is returned if a server rejects or requires credentials.
	ErrForbidden = Errorf(Denied, "access denied")
)

// PlatformError reports that a release has no package for the requested platform.
type PlatformError struct {
	Address Address
	Version Version
	// Wanted is the requested platform.
	Wanted Platform
	// Have lists the platforms of the release in sorted order.
	Have []Platform
	// Listed is the error that occurred when the package was requested, or nil if the
	// release doesn't list the platform.
	Listed error
}

// Unwrap returns Listed.
func (e *PlatformError) Unwrap() error { return e.Listed }

func (e *PlatformError) Error() string {
	return fmt.Sprintf("%s %s %s", e.Address, e.Version, e.problem("has "))
}

// Kind returns [NotFound].
func (e *PlatformError) Kind() ErrorKind { return NotFound }

// Within returns the error's text. If Address is a and Version is v, the text omits both.
func (e *PlatformError) Within(a Address, v Version) string {
	if e.Address != a || e.Version != v {
		return e.Error()
	}
	return e.problem("")
}

func (e *PlatformError) problem(verb string) string {
	listed := ""
	if e.Listed != nil {
		listed = fmt.Sprintf(", although the release lists %s: %v", e.Wanted, e.Listed)
	}
	switch {
	case len(e.Have) == 0 && listed != "":
		return fmt.Sprintf("%sno package for %s%s", verb, e.Wanted, listed)
	case len(e.Have) == 0 && e.Wanted != (Platform{}):
		return fmt.Sprintf("%sno package for %s and lists no platforms", verb, e.Wanted)
	case len(e.Have) == 0:
		return "lists no platforms"
	}
	return fmt.Sprintf("%sno package for %s, only for %s%s", verb, e.Wanted, join(e.Have), listed)
}

// SyntaxError reports an invalid string and the position of the problem.
type SyntaxError struct {
	// What is the kind of value, such as "provider address" or "platform".
	What string
	// Input is the complete string.
	Input string
	// Offset is the byte offset in Input at which the problem starts.
	Offset int
	// Problem describes the problem as the predicate of a sentence, without a period.
	Problem string
}

// Error hides passwords in Input, for example in a URL that was specified instead of a
// host.
func (e *SyntaxError) Error() string {
	input, column := e.shown()
	return fmt.Sprintf("invalid %s %q: %s (at character %d)", e.What, input, e.Problem, column)
}

// Kind returns [Malformed].
func (e *SyntaxError) Kind() ErrorKind { return Malformed }

// shown returns the input without passwords, and the column of the problem. Columns are
// counted in characters, starting at 1.
func (e *SyntaxError) shown() (input string, column int) {
	input, offset := text.RedactUserinfoAt(e.Input, min(max(e.Offset, 0), len(e.Input)))
	return input, len([]rune(input[:offset])) + 1
}

// Pointer returns two lines: the input as in [SyntaxError.Error], and a caret below the
// position of the problem.
func (e *SyntaxError) Pointer() string {
	input, column := e.shown()
	return input + "\n" + strings.Repeat(" ", column-1) + "^"
}

func join[T fmt.Stringer](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = v.String()
	}
	return strings.Join(words, ", ")
}

func sorted[T any](values []T, compare func(a, b T) int) []T {
	out := slices.Clone(values)
	slices.SortFunc(out, compare)
	return out
}
