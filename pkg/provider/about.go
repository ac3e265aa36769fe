package provider

import "strings"

// Error says which release, or which provider, an error is about, and what was
// being done with it. Where such errors are wrapped in each other, which happens as
// a source, a repository and a flow each say it, the text names the release once.
type Error struct {
	// Doing is what was tried: "reading".
	Doing   string
	Address Address
	// Version and Platform are zero when the error is about more.
	Version  Version
	Platform Platform
	Err      error
}

func (e *Error) Error() string {
	text := e.Doing + " " + e.Address.String()
	if e.Version != (Version{}) {
		text += " " + e.Version.String()
	}
	if e.Platform != (Platform{}) {
		text += " for " + e.Platform.String()
	}
	return text + ": " + errorWithin(e.Err, e.Address, e.Version)
}

// Unwrap returns the error itself.
func (e *Error) Unwrap() error { return e.Err }

// Within returns the text for a message that has named the release. What was being
// done stays only where it says more than that: "fetching checksums of".
func (e *Error) Within(a Address, v Version) string {
	if e.Address != a || e.Version != v && e.Version != (Version{}) {
		return e.Error()
	}
	text := errorWithin(e.Err, a, v)
	if e.Platform != (Platform{}) {
		text = e.Platform.String() + ": " + text
	}
	if step, says := strings.CutSuffix(e.Doing, " of"); says {
		text = step + ": " + text
	}
	return text
}

// errorWithin returns the text of an error for a message that has named the release
// already: without it, where the error's type has a method Within for that.
func errorWithin(err error, a Address, v Version) string {
	if about, ok := err.(interface{ Within(Address, Version) string }); ok {
		return about.Within(a, v)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var plain, within []string
		for _, one := range joined.Unwrap() {
			plain, within = append(plain, one.Error()), append(within, errorWithin(one, a, v))
		}
		if err.Error() == strings.Join(plain, "\n") { // of errors.Join, which adds no words
			return strings.Join(within, "\n")
		}
	}
	return err.Error()
}

// VersionError says that a provider does not have a version. It is an
// [ErrVersionNotFound].
type VersionError struct {
	Address Address
	// Version is the one that was asked for; the zero value when Wanted says what
	// was.
	Version Version
	Wanted  Constraint
	// Where says where else than at a registry, "": nothing.
	Where string
	// Have are the versions that there are.
	Have []Version
	// Pending are the pending versions that meet Wanted.
	Pending []Version
	// Err is what the other side answered, if that says more.
	Err error
}

func (e *VersionError) Error() string {
	text := ErrVersionNotFound.Error() + ": "
	switch {
	case e.Version != (Version{}):
		text += e.Address.String() + " " + e.Version.String()
	case e.Wanted.IsZero() && len(e.Have) == 0 && len(e.Pending) > 0:
		return text + e.Address.String() + " has no approved release; waiting for approval: " + join(e.Pending[:min(maxSomeVersions, len(e.Pending))])
	case e.Wanted.IsZero():
		text += e.Address.String() + " has no release (a pre-release has to be named exactly)"
	default:
		text += "no version of " + e.Address.String() + " meets \"" + e.Wanted.String() + "\""
	}
	if e.Where != "" {
		text += " in " + e.Where
	}
	return text + "; " + SomeVersions(e.Have)
}

// Within returns the text for a message that has named the release, and where it was
// looked for.
func (e *VersionError) Within(a Address, v Version) string {
	if e.Address != a || e.Version != v {
		return e.Error()
	}
	return ErrVersionNotFound.Error() + "; " + SomeVersions(e.Have)
}

// ListsAll reports whether the error's text lists all versions in Have.
func (e *VersionError) ListsAll() bool { return len(e.Have) <= maxSomeVersions }

// Unwrap returns [ErrVersionNotFound], and what the other side answered.
func (e *VersionError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrVersionNotFound}
	}
	return []error{ErrVersionNotFound, e.Err}
}
