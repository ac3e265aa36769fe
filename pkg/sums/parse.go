package sums

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
)

// maxFileSize bounds a SHA256SUMS document. A release of a few dozen platforms
// makes some kilobytes; this is a thousand times that.
const maxFileSize = 4 << 20

// hexLength is the length of a SHA-256 in hexadecimal digits.
const hexLength = 64

// byteOrderMark is what editors on Windows put before a text.
const byteOrderMark = "\xef\xbb\xbf"

// Parse reads a SHA256SUMS document by OpenTofu's rule: white space splits a
// line into words, the first is the sum and the second the file's name, letter
// by letter. So one space or a tab is enough between them, digits may be upper
// case, and comments and bad lines don't matter as long as they are not about a
// file that is looked up. But "*name" and "./name" are other names than "name".
//
// OpenTofu takes the first line about a file. [File.Find] is stricter: all lines
// about it must have the same sum, for any of them could be shown as the right
// one. Errors of Parse are *[FileError]: the document is too large, or no line
// of it can be used.
//
// The rule is in OpenTofu's internal/getproviders/package_authentication.go.
func Parse(data []byte) (File, error) {
	if len(data) > maxFileSize {
		return File{}, &FileError{Problem: fmt.Sprintf("is larger than %d bytes", maxFileSize)}
	}
	f := File{sums: map[string]digest.Digest{}, spoiled: map[string]flaw{}}
	first := &FileError{Problem: "no file is listed"}
	number := 0
	for line := range strings.SplitSeq(string(data), "\n") {
		number++
		sum, name := twoWords(line)
		if name == "" {
			continue
		}
		if problem := f.add(name, sum); problem != "" {
			f.spoil(name, flaw{number, problem})
			if first.Line == 0 {
				first = f.spoiled[name].of(name)
			}
		}
	}
	if len(f.sums) > 0 {
		return f, nil
	}
	if other := recognize(data); other != "" {
		return File{}, &FileError{Problem: other}
	}
	return File{}, first
}

// twoWords returns the first two words of a line; the second is empty when there
// is none.
func twoWords(line string) (first, second string) {
	for word := range strings.FieldsSeq(line) {
		if first != "" {
			return first, word
		}
		first = word
	}
	return first, ""
}

// add takes what a line says about a file, unless there is a problem.
func (f File) add(name, sum string) problem {
	switch before, found := f.sums[name]; {
	case f.spoiled[name].problem != "":
		return f.spoiled[name].problem
	case strings.HasPrefix(sum, byteOrderMark):
		return hasByteOrderMark
	case !isSum(sum):
		return isNoSum
	case found && before.Encoded() != strings.ToLower(sum):
		return isAmbiguous
	}
	f.sums[name] = digest.NewDigestFromEncoded(digest.SHA256, strings.ToLower(sum))
	return ""
}

func isSum(word string) bool {
	if len(word) != hexLength {
		return false
	}
	_, err := hex.DecodeString(word)
	return err == nil
}

// spoil notes the first reason why a file has no sum.
func (f File) spoil(name string, why flaw) {
	if _, known := f.spoiled[name]; !known {
		f.spoiled[name] = why
	}
	delete(f.sums, name)
}

// flaw is what is wrong with a line. A document may have hundreds of thousands
// of them, so it is small.
type flaw struct {
	line    int
	problem problem
}

// problem is a sentence without its full stop.
type problem string

const (
	isNoSum          problem = "the first word must be a sum of 64 hexadecimal digits"
	isAmbiguous      problem = "the file is listed with two different sums"
	hasByteOrderMark problem = "the document starts with a byte order mark, must be plain UTF-8"
)

// maxShown bounds the part of a name that an error shows.
const maxShown = 200

func (f flaw) of(name string) *FileError {
	return &FileError{Line: f.line, Problem: fmt.Sprintf("%.*q: %s", maxShown, name, f.problem)}
}

// recognize knows what is often found in the place of a SHA256SUMS document, so
// that the error can name it.
func recognize(data []byte) (problem string) {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")), bytes.IndexByte(data, 0) >= 0:
		return "is UTF-16 or not text at all, must be plain UTF-8"
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")):
		return "is an HTML or XML page, not a list of sums"
	}
	return ""
}
