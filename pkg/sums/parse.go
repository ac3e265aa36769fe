package sums

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/opencontainers/go-digest"
)

// maxFileSize bounds a SHA256SUMS document. A release of a few dozen platforms
// makes some kilobytes; this is a thousand times that.
const maxFileSize = 4 << 20

// hexLength is the length of a SHA-256 in hexadecimal digits.
const hexLength = 64

// Parse reads a SHA256SUMS document as sha256sum and goreleaser write it: two
// spaces, or a space and an asterisk, between sum and name. Windows' line ends,
// upper-case digits, blank lines and "./" before a name are accepted. A name
// with two different sums is refused, for either could then be shown as the
// right one. Errors are *[SyntaxError].
func Parse(data []byte) (File, error) {
	if problem := checkText(data); problem != "" {
		return File{}, &SyntaxError{Problem: problem}
	}
	sums := make(map[string]digest.Digest)
	number := 0
	for line := range strings.SplitSeq(string(data), "\n") {
		number++
		line = strings.TrimSuffix(line, "\r")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, sum, problem := parseLine(line)
		if problem != "" {
			return File{}, &SyntaxError{Line: number, Problem: problem}
		}
		if before, found := sums[name]; found && before != sum {
			return File{}, &SyntaxError{Line: number, Problem: fmt.Sprintf("%q has two different sums", name)}
		}
		sums[name] = sum
	}
	if len(sums) == 0 {
		return File{}, &SyntaxError{Problem: "no file is listed"}
	}
	return File{sums: sums}, nil
}

// checkText recognizes what is often found in the place of a SHA256SUMS
// document, so that the error can name it.
func checkText(data []byte) (problem string) {
	switch {
	case len(data) > maxFileSize:
		return fmt.Sprintf("is larger than %d bytes", maxFileSize)
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")), bytes.IndexByte(data, 0) >= 0:
		return "is UTF-16 or not text at all, must be plain UTF-8"
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return "starts with a byte order mark, must be plain UTF-8"
	case !utf8.Valid(data):
		return "is not valid UTF-8"
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")):
		return "is an HTML or XML page, not a list of sums"
	}
	return ""
}

// parseLine reads "hex  name" or "hex *name".
func parseLine(line string) (name string, sum digest.Digest, problem string) {
	const form = "must be 64 hexadecimal digits, two spaces (or a space and an asterisk) and a file name"
	if len(line) < hexLength+2 || line[hexLength] != ' ' || line[hexLength+1] != ' ' && line[hexLength+1] != '*' {
		return "", "", form
	}
	raw, err := hex.DecodeString(line[:hexLength])
	if err != nil {
		return "", "", form
	}
	name = strings.TrimPrefix(line[hexLength+2:], "./")
	if problem := checkName(name); problem != "" {
		return "", "", problem
	}
	return name, digest.NewDigestFromBytes(digest.SHA256, raw), ""
}

// checkName lets pass what can name a file in one directory.
func checkName(name string) (problem string) {
	switch {
	case name == "":
		return "the file name is missing"
	case name == "." || name == ".." || strings.ContainsAny(name, `/\`):
		return fmt.Sprintf("the file name %q is not a single path element", name)
	case strings.TrimSpace(name) != name:
		return fmt.Sprintf("the file name %q has white space around it", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Sprintf("the file name %q has a control character", name)
	}
	return ""
}
