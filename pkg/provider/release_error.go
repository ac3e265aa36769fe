package provider

import "strings"

// Error adds an operation, a provider, and optionally a version and a platform to an
// error. If errors of this type are nested, for example a repository's error in a
// source's error, the text mentions the release only once.
type Error struct {
	// Op is the operation that failed, such as "reading".
	Op      string
	Address Address
	// Version and Platform are zero if the error does not concern a specific version or
	// platform.
	Version  Version
	Platform Platform
	Err      error
}

func (e *Error) Error() string {
	text := e.Op + " " + e.Address.String()
	if e.Version != (Version{}) {
		text += " " + e.Version.String()
	}
	if e.Platform != (Platform{}) {
		text += " for " + e.Platform.String()
	}
	return text + ": " + errorWithin(e.Err, e.Address, e.Version)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Within returns the error's text. If Address is a, and Version is v or the zero value,
// the text omits both. In this case, it contains Op only if Op ends in " of", as in
// "fetching checksums of".
func (e *Error) Within(a Address, v Version) string {
	if e.Address != a || e.Version != v && e.Version != (Version{}) {
		return e.Error()
	}
	text := errorWithin(e.Err, a, v)
	if e.Platform != (Platform{}) {
		text = e.Platform.String() + ": " + text
	}
	if step, found := strings.CutSuffix(e.Op, " of"); found {
		text = step + ": " + text
	}
	return text
}

// errorWithin returns the text of err. If err, or an error that it joins, has a Within
// method, the result contains the text that this method returns.
func errorWithin(err error, a Address, v Version) string {
	if e, ok := err.(interface{ Within(Address, Version) string }); ok {
		return e.Within(a, v)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var plain, within []string
		for _, one := range joined.Unwrap() {
			plain, within = append(plain, one.Error()), append(within, errorWithin(one, a, v))
		}
		if err.Error() == strings.Join(plain, "\n") { // created by errors.Join, which adds no text
			return strings.Join(within, "\n")
		}
	}
	return err.Error()
}

// VersionError reports that a provider does not have the requested version, or has no
// version that meets the requested constraint. It wraps [ErrVersionNotFound].
type VersionError struct {
	Address Address
	// Version is the requested version. It is the zero value if Wanted is set.
	Version Version
	Wanted  Constraint
	// Where is the location that was searched. It is empty for a registry.
	Where string
	// Have lists the existing versions.
	Have []Version
	// Pending lists the pending versions that meet Wanted.
	Pending []Version
	// Err is the underlying error if it contains more information. It can be nil.
	Err error
}

func (e *VersionError) Error() string {
	text := ErrVersionNotFound.Error() + ": "
	switch {
	case e.Version != (Version{}):
		text += e.Address.String() + " " + e.Version.String()
	case e.Wanted.IsZero() && len(e.Have) == 0 && len(e.Pending) > 0:
		return text + e.Address.String() + " has no approved release; pending: " + join(e.Pending[:min(maxSomeVersions, len(e.Pending))])
	case e.Wanted.IsZero():
		text += e.Address.String() + " has no release (pre-releases must be specified exactly)"
	default:
		text += "no version of " + e.Address.String() + " meets \"" + e.Wanted.String() + "\""
	}
	if e.Where != "" {
		text += " in " + e.Where
	}
	return text + "; " + SomeVersions(e.Have)
}

// Within returns the error's text. If Address is a and Version is v, the text omits both.
func (e *VersionError) Within(a Address, v Version) string {
	if e.Address != a || e.Version != v {
		return e.Error()
	}
	return ErrVersionNotFound.Error() + "; " + SomeVersions(e.Have)
}

// ListsAll reports whether the text of the error lists all versions in Have.
func (e *VersionError) ListsAll() bool { return len(e.Have) <= maxSomeVersions }

// Unwrap returns [ErrVersionNotFound] and, if not nil, Err.
func (e *VersionError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrVersionNotFound}
	}
	return []error{ErrVersionNotFound, e.Err}
}
