package provider

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// Conditions that every [Source] reports alike. Test for them with [errors.Is].
var (
	// ErrProviderNotFound: this source does not know the provider at all.
	ErrProviderNotFound = Errorf(NotFound, "provider not found")
	// ErrVersionNotFound: the provider is known, this version of it is not.
	ErrVersionNotFound = Errorf(NotFound, "version not found")
	// ErrWrongSource: a package was given to a source that did not make it.
	ErrWrongSource = Errorf(Refused, "the package is not of this source")
	// ErrDenied: the other side refused the credentials, or wanted some.
	ErrDenied = Errorf(Denied, "access denied")
)

// PlatformError says that a release exists, but not for the platform that was
// asked for.
type PlatformError struct {
	Address Address
	Version Version
	// Wanted is the platform asked for.
	Wanted Platform
	// Have lists the platforms that the release does have, sorted.
	Have []Platform
	// Listed is what was answered where the platform is listed all the same, else
	// nil.
	Listed error
}

// Unwrap returns Listed.
func (e *PlatformError) Unwrap() error { return e.Listed }

func (e *PlatformError) Error() string {
	return fmt.Sprintf("%s %s has %s", e.Address, e.Version, e.problem())
}

// Kind is [NotFound].
func (e *PlatformError) Kind() ErrorKind { return NotFound }

// Within returns the text for a message that has named the release.
func (e *PlatformError) Within(a Address, v Version) string {
	if e.Address != a || e.Version != v {
		return e.Error()
	}
	return "it has " + e.problem()
}

func (e *PlatformError) problem() string {
	listed := ""
	if e.Listed != nil {
		listed = fmt.Sprintf(", though it is listed: %v", e.Listed)
	}
	switch {
	case len(e.Have) == 0 && listed != "":
		return fmt.Sprintf("no package for %s%s", e.Wanted, listed)
	case len(e.Have) == 0 && e.Wanted != (Platform{}):
		return fmt.Sprintf("no package for %s, and lists no platforms at all", e.Wanted)
	case len(e.Have) == 0:
		return "no platforms listed at all"
	}
	return fmt.Sprintf("no package for %s, only for %s%s", e.Wanted, join(e.Have), listed)
}

// SyntaxError says what is wrong with a text and where.
type SyntaxError struct {
	// What names the kind of text: "provider address", "platform", …
	What string
	// Input is the whole text.
	Input string
	// Offset is the byte in Input at which the problem starts.
	Offset int
	// Problem is a sentence without its full stop.
	Problem string
}

// Error does not show a password that is in Input where only a host belongs.
func (e *SyntaxError) Error() string {
	input, column := e.shown()
	return fmt.Sprintf("%s %q: %s (at character %d)", e.What, input, e.Problem, column)
}

// Kind is [Malformed].
func (e *SyntaxError) Kind() ErrorKind { return Malformed }

// shown returns the input without passwords, and the column of the problem in it:
// characters count from 1, as a reader does.
func (e *SyntaxError) shown() (input string, column int) {
	input, at := text.RedactUserinfoAt(e.Input, min(max(e.Offset, 0), len(e.Input)))
	return input, len([]rune(input[:at])) + 1
}

// Pointer returns two lines: the input as [SyntaxError.Error] shows it, and a caret
// under the place at fault.
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
