package provider

import (
	"cmp"
	"fmt"
	"strings"
)

// IdentityError reports that the file name of a package is the name of a different
// package or is not a package file name.
type IdentityError struct {
	Package Package
	// Name is the file name.
	Name string
	// Type, Version, and Platform are the parts of the name. They are empty if the name
	// does not have the form of a package file name.
	Type, Version, Platform string
}

func (e *IdentityError) Error() string {
	p := e.Package
	if e.Type == "" {
		return fmt.Sprintf("%q is not a package file name; the name for %s is %s", e.Name, p.Platform, Filename(p.Address, p.Version, p.Platform))
	}
	return fmt.Sprintf("%q is the name of %s %s for %s, not of %s %s for %s",
		e.Name, e.Type, e.Version, e.Platform, p.Address.Type, p.Version, p.Platform)
}

// Kind returns [Unverified].
func (e *IdentityError) Kind() ErrorKind { return Unverified }

// CheckIdentity returns an error if the package's file name contains the type, version,
// or platform of a different package. Without this check, an old package with valid
// checksums and signatures could be passed off as a newer release. The case of the name
// and a "v" before the version are ignored. Names that do not have the form of a package
// file name are accepted. In the file name of a module, only the version is checked.
// Errors are of type *[IdentityError].
func (p Package) CheckIdentity() error {
	name := cmp.Or(p.ListedAs, p.Filename)
	if p.Address.IsModule() {
		return p.checkModule(name)
	}
	parsed, ok := readFilename(name)
	if !ok || parsed.is(p) {
		return nil
	}
	return &IdentityError{p, name, parsed.typ, parsed.version.String(), parsed.platform.String()}
}

// checkModule rejects a name of the form NAME_VERSION.zip if VERSION is not the
// package's version. NAME can differ, because a module can be copied to a repository
// with a different name.
func (p Package) checkModule(name string) error {
	stem, isZip := strings.CutSuffix(name, filenameEnd)
	at := strings.LastIndexByte(stem, '_')
	v, err := ParseVersion(stem[at+1:])
	if !isZip || at < 0 || err != nil || v == p.Version || p.Version == (Version{}) {
		return nil //nolint:nilerr // other tools use other names
	}
	return &IdentityError{p, name, stem[:at], v.String(), p.Platform.String()}
}

// CheckConventional rejects a file name for the package if the name does not have the
// form terraform-provider-TYPE_VERSION_OS_ARCH.zip, or if it is the name of a different
// package. The version can be written differently, such as 1.0 or v1.0.0 for 1.0.0, because
// OpenTofu and Terraform install such packages from origin registries. Errors are of
// type *[IdentityError].
func (p Package) CheckConventional(name string) error {
	parsed, ok := readFilename(name)
	if !ok {
		return &IdentityError{Package: p, Name: name}
	}
	if !parsed.is(p) {
		return &IdentityError{p, name, parsed.typ, parsed.version.String(), parsed.platform.String()}
	}
	// Other tools don't find a file if the case of its name differs.
	typ, version, platform, ok := ParseFilename(name)
	if v, err := ParseVersion(strings.TrimPrefix(version, "v")); !ok || err != nil || v != p.Version || typ != p.Address.Type || platform != p.Platform.String() {
		return &IdentityError{Package: p, Name: name}
	}
	return nil
}

type parsedName struct {
	typ      string
	version  Version
	platform Platform
}

func (n parsedName) is(p Package) bool {
	return n.typ == p.Address.Type && n.version == p.Version && n.platform == p.Platform
}

// readFilename parses a file name like [ParseFilename], but ignores case except in the
// version, because case-insensitive file systems treat NULL and null as the same name.
func readFilename(name string) (n parsedName, ok bool) {
	if len(name) < len(filenameStart)+len(filenameEnd) {
		return parsedName{}, false
	}
	// Convert only the prefix and suffix to lower case, because versions are
	// case-sensitive.
	stem := name[len(filenameStart) : len(name)-len(filenameEnd)]
	typ, version, platform, ok := ParseFilename(strings.ToLower(name[:len(filenameStart)]) + stem + strings.ToLower(name[len(name)-len(filenameEnd):]))
	if !ok {
		return parsedName{}, false
	}
	if strings.HasPrefix(version, "v") || strings.HasPrefix(version, "V") {
		version = version[1:]
	}
	v, err := ParseVersion(version)
	if err != nil {
		return parsedName{}, false
	}
	p, err := ParsePlatform(strings.ToLower(platform))
	return parsedName{strings.ToLower(typ), v, p}, err == nil
}
