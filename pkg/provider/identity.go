package provider

import (
	"cmp"
	"fmt"
	"strings"
)

// IdentityError says that a package goes by a file name that is not its own.
type IdentityError struct {
	Package Package
	// Name is the file name.
	Name string
	// Type, Version and Platform are what the name says. They are empty when it
	// has not the form of a package's name.
	Type, Version, Platform string
}

func (e *IdentityError) Error() string {
	p := e.Package
	if e.Type == "" {
		return fmt.Sprintf("%q is not the name of a package; that for %s is %s", e.Name, p.Platform, Filename(p.Address, p.Version, p.Platform))
	}
	return fmt.Sprintf("%q is the name of %s %s for %s, not of %s %s for %s",
		e.Name, e.Type, e.Version, e.Platform, p.Address.Type, p.Version, p.Platform)
}

// Kind is [Unverified].
func (e *IdentityError) Kind() ErrorKind { return Unverified }

// CheckIdentity refuses a package that goes by the name of another type, version
// or platform: older bytes, correctly listed and signed in their time, must not
// pass for a newer release. The name may be written in any case, and with a v
// before the version. One that has not the form of a package's name says nothing,
// and passes. Errors are *[IdentityError].
func (p Package) CheckIdentity() error {
	name := cmp.Or(p.ListedAs, p.Filename)
	says, ok := readFilename(name)
	if !ok || says.is(p) {
		return nil
	}
	return &IdentityError{p, name, says.typ, says.version.String(), says.platform.String()}
}

// CheckConventional refuses a name for the package that has not the form
// terraform-provider-TYPE_VERSION_OS_ARCH.zip, or says something else than the
// package is. Only the version may be written in another form, such as 1.0 for
// 1.0.0. Errors are *[IdentityError].
func (p Package) CheckConventional(name string) error {
	says, ok := readFilename(name)
	if !ok {
		return &IdentityError{Package: p, Name: name}
	}
	if !says.is(p) {
		return &IdentityError{p, name, says.typ, says.version.String(), says.platform.String()}
	}
	// It may be in another case, or have a v, and no other tool finds it then.
	typ, version, platform, ok := ParseFilename(name)
	if v, err := ParseVersion(version); !ok || err != nil || v != p.Version || typ != p.Address.Type || platform != p.Platform.String() {
		return &IdentityError{Package: p, Name: name}
	}
	return nil
}

// named is what a file name says.
type named struct {
	typ      string
	version  Version
	platform Platform
}

func (n named) is(p Package) bool {
	return n.typ == p.Address.Type && n.version == p.Version && n.platform == p.Platform
}

// readFilename reads a name more freely than [ParseFilename]: file systems that
// take NULL for null would take one package for the other.
func readFilename(name string) (n named, ok bool) {
	if len(name) < len(filenameStart)+len(filenameEnd) {
		return named{}, false
	}
	// Only these ends are lower-cased: in a version the case counts.
	stem := name[len(filenameStart) : len(name)-len(filenameEnd)]
	typ, version, platform, ok := ParseFilename(strings.ToLower(name[:len(filenameStart)]) + stem + strings.ToLower(name[len(name)-len(filenameEnd):]))
	if !ok {
		return named{}, false
	}
	if strings.HasPrefix(version, "v") || strings.HasPrefix(version, "V") {
		version = version[1:]
	}
	v, err := ParseVersion(version)
	if err != nil {
		return named{}, false
	}
	p, err := ParsePlatform(strings.ToLower(platform))
	return named{strings.ToLower(typ), v, p}, err == nil
}
