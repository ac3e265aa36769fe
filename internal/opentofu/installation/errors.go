package installation

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrNotSupported is returned for settings that OpenTofu supports but this package
// doesn't.
var ErrNotSupported = provider.Errorf(provider.Misuse, "not supported yet")

func notSupported(a provider.Address, m cliconfig.Method) error {
	return fmt.Errorf("OpenTofu would install %s with %s, which is %w", a, m, ErrNotSupported)
}

// UnresolvedError means that no installation method has the requested version or
// package. It wraps the methods' errors. If no method matches the provider, it wraps
// [provider.ErrProviderNotFound].
type UnresolvedError struct {
	Address provider.Address
	// Version is the requested version. It is the zero value if the request was for a
	// version list.
	Version provider.Version
	// attempts contains the failed attempts in the order of the methods.
	attempts []attempt
	// missing is set if versions or packages exist, but not for the platform.
	missing *provider.PlatformError
}

// attempt is a method's error.
type attempt struct {
	method cliconfig.Method
	err    error
}

func (e *UnresolvedError) Error() string {
	what := e.Address.String()
	if e.Version != (provider.Version{}) {
		what += " " + e.Version.String()
	}
	if e.missing != nil {
		return e.text(what, e.missing.Error())
	}
	return e.text(what, "")
}

// Kind returns [provider.Refused].
func (e *UnresolvedError) Kind() provider.ErrorKind { return provider.Refused }

// Within returns the error's text. If Address is a and Version is v, the text omits both.
func (e *UnresolvedError) Within(a provider.Address, v provider.Version) string {
	switch {
	case e.Address != a || e.Version != v:
		return e.Error()
	case e.missing != nil:
		return e.text("it", e.missing.Within(a, v))
	}
	return e.text("it", "")
}

// text returns the error message for the requested object. missing, if not empty,
// describes the object that no method has.
func (e *UnresolvedError) text(object, missing string) string {
	if len(e.attempts) == 0 {
		return fmt.Sprintf("%v: no installation method in the CLI configuration matches %s", provider.ErrProviderNotFound, object)
	}
	var failures []string
	for _, a := range e.attempts {
		failures = append(failures, fmt.Sprintf("%s: %s", a.method, (&provider.Error{Address: e.Address, Version: e.Version, Err: a.err}).Within(e.Address, e.Version)))
	}
	if missing != "" {
		return fmt.Sprintf("%s (%s)", missing, strings.Join(failures, "; "))
	}
	return fmt.Sprintf("no installation method provides %s: %s", object, strings.Join(failures, "; "))
}

// Unwrap returns the methods' errors, with the most specific errors first.
func (e *UnresolvedError) Unwrap() []error {
	var all []error
	if e.missing != nil {
		all = append(all, e.missing)
	}
	for _, a := range e.attempts {
		all = append(all, a.err)
	}
	if len(e.attempts) == 0 {
		all = append(all, provider.ErrProviderNotFound)
	}
	return all
}

// NoMirrorError means that no oci_mirror in the configuration matches a provider, so
// the provider's repository is unknown.
type NoMirrorError struct {
	Address provider.Address
	// Block is an example of a provider_installation block that would match.
	Block string
	// Position is the position of the existing provider_installation block. It is the
	// zero value if the block doesn't exist.
	Position stricthcl.Position
}

func (e *NoMirrorError) Error() string {
	return fmt.Sprintf("no oci_mirror in the CLI configuration matches %s, so its repository is unknown", e.Address)
}

// Kind returns [provider.Misuse].
func (e *NoMirrorError) Kind() provider.ErrorKind { return provider.Misuse }
