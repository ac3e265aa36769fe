package provider

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// The prefix and suffix of conventional package file names.
const (
	filenameStart = "terraform-provider-"
	filenameEnd   = ".zip"
)

// Filename returns the conventional file name of a package:
// terraform-provider-TYPE_VERSION_OS_ARCH.zip. For a module, it returns
// NAME_VERSION.zip, where NAME is the last part of the repository.
func Filename(a Address, v Version, p Platform) string {
	if a.IsModule() {
		return fmt.Sprintf("%s_%s.zip", a.Type[strings.LastIndexAny(a.Type, "/:")+1:], v)
	}
	return fmt.Sprintf("terraform-provider-%s_%s_%s.zip", a.Type, v, p)
}

// ParseFilename splits a file name of the form
// terraform-provider-TYPE_VERSION_OS_ARCH.zip into its parts, without validating them.
// ok is false if the name does not have this form.
func ParseFilename(name string) (typ, version, platform string, ok bool) {
	middle, found := strings.CutPrefix(name, filenameStart)
	stem, isZip := strings.CutSuffix(middle, filenameEnd)
	words := strings.Split(stem, "_")
	n := len(words)
	if !found || !isZip || n < 4 {
		return "", "", "", false
	}
	return strings.Join(words[:n-3], "_"), words[n-3], words[n-2] + "_" + words[n-1], true
}

// SumsName returns the conventional file name of a version's SHA256SUMS.
func SumsName(a Address, v Version) string {
	if a.IsModule() {
		return strings.TrimSuffix(Filename(a, v, Platform{}), filenameEnd) + "_SHA256SUMS"
	}
	return fmt.Sprintf("terraform-provider-%s_%s_SHA256SUMS", a.Type, v)
}

// maxFilenameLength is the maximum length of a file name in common file systems, in
// bytes.
const maxFilenameLength = 255

// CheckFilename rejects names that could escape a directory or that a file system could
// treat specially. It rejects names with separators, "..", leading dots or dashes,
// control characters, or the syntax of Windows devices and streams.
func CheckFilename(name string) error {
	switch {
	case name == "":
		return errors.New("file name is empty")
	case len(name) > maxFilenameLength:
		return fmt.Errorf("file name exceeds %d bytes", maxFilenameLength)
	case strings.ContainsAny(name, `/\:*?"<>|`):
		return fmt.Errorf("file name %q contains a character that is not allowed", name)
	case name[0] == '.' || name[0] == '-' || strings.HasSuffix(name, "."):
		return fmt.Errorf("file name %q starts with a dot or dash, or ends with a dot", name)
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == unicode.ReplacementChar }):
		return fmt.Errorf("file name %q contains white space, a control character, or invalid UTF-8", name)
	case text.IsDeviceName(name):
		return fmt.Errorf("file name %q is a device name on Windows", name)
	}
	return nil
}
