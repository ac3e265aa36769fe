package provider

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/opencontainers/go-digest"
)

// Package is one zip archive: a provider of one version for one platform.
type Package struct {
	Address  Address
	Version  Version
	Platform Platform
	// Filename is the archive's name as SHA256SUMS lists it: one path element,
	// see [CheckFilename].
	Filename string
	// Digest is the SHA-256 of the archive. Its hex is at once the line in
	// SHA256SUMS, the OCI blob's digest and the lock file's zh: hash.
	Digest digest.Digest
	// Size is the archive's length in bytes, -1 when it is not known yet.
	Size int64
	// H1 is the lock file's "h1:…" hash of the archive's contents, empty when
	// it is not known.
	H1 string
	// Documents are about this package alone.
	Documents []Document
	// Locator tells the Source that made this value where the bytes are. Only
	// that Source reads it.
	Locator any
}

// Release is a version of a provider with all of its packages, or with those
// that were asked for.
type Release struct {
	Address Address
	Version Version
	// Packages are sorted by platform, one each.
	Packages []Package
	// Protocols are the plugin protocol versions, such as "5.0", as the origin
	// states them; empty when unknown.
	Protocols []string
	// Documents are about the release: SHA256SUMS, its signature, keys.
	Documents []Document
	// Locator tells the Source that made this value where it lies. Only that
	// Source reads it.
	Locator any
}

// Document gives the release's first document of a kind.
func (r Release) Document(kind Kind) (Document, bool) {
	for _, d := range r.Documents {
		if d.Kind == kind {
			return d, true
		}
	}
	return Document{}, false
}

// Platforms lists the platforms of the release's packages.
func (r Release) Platforms() []Platform {
	ps := make([]Platform, len(r.Packages))
	for i, p := range r.Packages {
		ps[i] = p.Platform
	}
	return ps
}

// Filename gives the conventional name of a package's zip archive:
// terraform-provider-TYPE_VERSION_OS_ARCH.zip.
func Filename(a Address, v Version, p Platform) string {
	return fmt.Sprintf("terraform-provider-%s_%s_%s.zip", a.Type, v, p)
}

// FilenameParts is what a conventional file name says, each part as it is
// written.
type FilenameParts struct {
	Type, Version, Platform string
}

// ParseFilename takes a name of the form terraform-provider-TYPE_VERSION_OS_ARCH.zip
// apart; ok is false when it has another form.
func ParseFilename(name string) (parts FilenameParts, ok bool) {
	middle, found := strings.CutPrefix(name, "terraform-provider-")
	stem, isZip := strings.CutSuffix(middle, ".zip")
	words := strings.Split(stem, "_")
	n := len(words)
	if !found || !isZip || n < 4 {
		return FilenameParts{}, false
	}
	return FilenameParts{
		Type: strings.Join(words[:n-3], "_"), Version: words[n-3], Platform: words[n-2] + "_" + words[n-1],
	}, true
}

// SumsName gives the conventional name of a version's checksum file.
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
	case IsDeviceName(name):
		return fmt.Errorf("the file name %q is a device's name on Windows", name)
	}
	return nil
}

// IdentityError says that a package's file name is that of another package.
type IdentityError struct {
	Package Package
	// Version and Platform are what the file name says.
	Version, Platform string
}

func (e *IdentityError) Error() string {
	return fmt.Sprintf("%q is the name of version %s for %s, not of %s for %s",
		e.Package.Filename, e.Version, e.Platform, e.Package.Version, e.Package.Platform)
}

// CheckIdentity refuses a conventional file name that belongs to another
// version or platform than the package's own: older bytes, correctly listed
// and signed in their time, must not pass for a newer release. Errors are
// *[IdentityError].
func (p Package) CheckIdentity() error {
	name, ok := ParseFilename(p.Filename)
	if !ok {
		return nil
	}
	v, err := ParseVersion(name.Version)
	if err != nil {
		return nil //nolint:nilerr // a name by some other rule is not for us to judge
	}
	if name.Platform != p.Platform.String() || v != p.Version {
		return &IdentityError{Package: p, Version: name.Version, Platform: name.Platform}
	}
	return nil
}
