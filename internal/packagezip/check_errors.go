package packagezip

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// CheckError says why a package must not be published.
type CheckError struct {
	// Problems are all that were found, at least one, each a sentence without
	// its full stop.
	Problems []string
}

func (e *CheckError) Error() string { return strings.Join(e.Problems, "\n") }

// source remembers whether reading went wrong, which tells a broken disk from a
// broken archive.
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

// blame makes err the package's problem, or returns it when it is the source's.
func (s *source) blame(err error) error {
	if s.err != nil {
		return err
	}
	return &CheckError{Problems: lines(err)}
}

// lines returns the text of each joined error.
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

// maxEnumerated is how many names one sentence takes.
const maxEnumerated = 5

// enumerate quotes names, up to a number of them.
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
