package provider

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// The ends of a package's conventional name.
const (
	filenameStart = "terraform-provider-"
	filenameEnd   = ".zip"
)

// Filename returns the conventional name of a package's zip archive:
// terraform-provider-TYPE_VERSION_OS_ARCH.zip.
func Filename(a Address, v Version, p Platform) string {
	return fmt.Sprintf("terraform-provider-%s_%s_%s.zip", a.Type, v, p)
}

// ParseFilename splits a file name of the form terraform-provider-TYPE_VERSION_OS_ARCH.zip.
// It returns the parts as they are written, or false if the name has another form.
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

// SumsName returns the conventional name of a version's checksum file.
func SumsName(a Address, v Version) string {
	return fmt.Sprintf("terraform-provider-%s_%s_SHA256SUMS", a.Type, v)
}

// maxFilenameLength is what common file systems allow a name.
const maxFilenameLength = 255

// CheckFilename refuses names that could leave a directory or that some file
// system would read as something else: separators, "..", leading dots and
// dashes, control characters, Windows' device and stream syntax.
func CheckFilename(name string) error {
	switch {
	case name == "":
		return errors.New("the file name is empty")
	case len(name) > maxFilenameLength:
		return fmt.Errorf("the file name has more than %d bytes", maxFilenameLength)
	case strings.ContainsAny(name, `/\:*?"<>|`):
		return fmt.Errorf("the file name %q has a character that is not allowed in names", name)
	case name[0] == '.' || name[0] == '-' || strings.HasSuffix(name, "."):
		return fmt.Errorf("the file name %q starts with a dot or dash or ends in a dot", name)
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == unicode.ReplacementChar }):
		return fmt.Errorf("the file name %q has white space, a control character or invalid text", name)
	case text.IsDeviceName(name):
		return fmt.Errorf("the file name %q is a device's name on Windows", name)
	}
	return nil
}
