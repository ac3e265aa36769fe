package packagezip

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// CheckError lists the problems that prevent a package from being published.
type CheckError struct {
	// Problems contains at least one problem. Problems have no final period.
	Problems []string
}

func (e *CheckError) Error() string { return strings.Join(e.Problems, "\n") }

// source records read errors, so that a broken disk can be distinguished from a broken
// archive.
type source struct {
	io.ReaderAt
	err error
}

func (s *source) ReadAt(p []byte, offset int64) (int, error) {
	n, err := s.ReaderAt.ReadAt(p, offset)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// attribute returns err if reading the source failed. Otherwise, it returns a
// *[CheckError] with the messages of err.
func (s *source) attribute(err error) error {
	if s.err != nil {
		return err
	}
	return &CheckError{Problems: lines(err)}
}

// lines returns the message of each joined error.
func lines(err error) []string {
	var joined interface {
		error
		Unwrap() []error
	}
	if !errors.As(err, &joined) {
		return []string{err.Error()}
	}
	var texts []string
	for _, e := range joined.Unwrap() {
		texts = append(texts, lines(e)...)
	}
	return texts
}

// maxEnumerated is the maximum number of names in a message.
const maxEnumerated = 5

// enumerate quotes and joins up to maxEnumerated names.
func enumerate(names []string) string {
	shown := make([]string, 0, maxEnumerated+1)
	for _, name := range names[:min(len(names), maxEnumerated)] {
		shown = append(shown, fmt.Sprintf("%q", name))
	}
	if more := len(names) - maxEnumerated; more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}
