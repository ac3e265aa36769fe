package sums

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
)

// maxFileSize is the maximum size of a SHA256SUMS document. A document for a few dozen
// platforms is only a few kilobytes long.
const maxFileSize = 4 << 20

// hexLength is the length of a SHA-256 checksum in hexadecimal digits.
const hexLength = 64

// byteOrderMark is the prefix that Windows editors add to text files.
const byteOrderMark = "\xef\xbb\xbf"

// Parse parses a SHA256SUMS document with OpenTofu's rules. Each line is split at white
// space. The first word is the checksum, and the second word is the file name. A single
// space or a tab is a valid separator, and digits can be upper case. Comments are
// ignored. A malformed line affects only the file that it names. Names are compared
// exactly, so "*name" and "./name" differ from "name".
//
// OpenTofu uses the first line that names a file. [File.Find] is stricter. All lines
// for a file must have the same checksum, because users might compare the file with any
// of them. Parse returns a *[FileError] if the document is too large or no line is
// valid.
//
// The rules are in OpenTofu's internal/getproviders/package_authentication.go.
func Parse(data []byte) (File, error) {
	if len(data) > maxFileSize {
		return File{}, &FileError{Problem: fmt.Sprintf("exceeds %d bytes", maxFileSize)}
	}
	f := File{sums: map[string]digest.Digest{}, invalid: map[string]lineError{}}
	first := &FileError{Problem: "no files are listed"}
	number := 0
	for line := range strings.SplitSeq(string(data), "\n") {
		number++
		sum, name := twoWords(line)
		if name == "" {
			continue
		}
		if problem := f.add(name, sum); problem != "" {
			f.markInvalid(name, lineError{number, problem})
			if first.Line == 0 {
				first = f.invalid[name].of(name)
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

// twoWords returns the first two words of a line. If the line has fewer words, the
// missing words are empty.
func twoWords(line string) (first, second string) {
	for word := range strings.FieldsSeq(line) {
		if first != "" {
			return first, word
		}
		first = word
	}
	return first, ""
}

// add adds the checksum of a file. If the line is invalid, add returns the reason.
func (f File) add(name, sum string) problem {
	switch before, found := f.sums[name]; {
	case f.invalid[name].problem != "":
		return f.invalid[name].problem
	case strings.HasPrefix(sum, byteOrderMark):
		return problemByteOrderMark
	case !isChecksum(sum):
		return problemChecksum
	case found && before.Encoded() != strings.ToLower(sum):
		return problemAmbiguous
	}
	f.sums[name] = digest.NewDigestFromEncoded(digest.SHA256, strings.ToLower(sum))
	return ""
}

func isChecksum(word string) bool {
	if len(word) != hexLength {
		return false
	}
	_, err := hex.DecodeString(word)
	return err == nil
}

// markInvalid records the first problem with a file and removes the file's checksum.
func (f File) markInvalid(name string, why lineError) {
	if _, known := f.invalid[name]; !known {
		f.invalid[name] = why
	}
	delete(f.sums, name)
}

// lineError is a problem with a line. It is small, because a document can have hundreds of
// thousands of malformed lines.
type lineError struct {
	line    int
	problem problem
}

// problem is the reason a line is invalid, without a final period.
type problem string

const (
	problemChecksum      problem = "the first word must be a checksum of 64 hexadecimal digits"
	problemAmbiguous     problem = "the file is listed with two different checksums"
	problemByteOrderMark problem = "the document starts with a byte order mark; want plain UTF-8"
)

// maxShown is the maximum length of a name in an error.
const maxShown = 200

func (f lineError) of(name string) *FileError {
	return &FileError{Line: f.line, Problem: fmt.Sprintf("%.*q: %s", maxShown, name, f.problem)}
}

// recognize describes content that is often mistaken for a SHA256SUMS document.
func recognize(data []byte) (problem string) {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")), bytes.IndexByte(data, 0) >= 0:
		return "is UTF-16 or binary; want plain UTF-8"
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")):
		return "is an HTML or XML page, not a list of checksums"
	}
	return ""
}
