package installation

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrNotSupported is the error about a part of the configuration that OpenTofu uses and
// this package does not support.
var ErrNotSupported = provider.Errorf(provider.Misuse, "not supported yet")

func notSupported(a provider.Address, m cliconfig.Method) error {
	return fmt.Errorf("OpenTofu would look for %s by %s, which is %w", a, m, ErrNotSupported)
}

// UnresolvedError says that no method has what was asked for, and what each of
// them answered. It wraps their errors, and [provider.ErrProviderNotFound] when
// none was asked.
type UnresolvedError struct {
	Address provider.Address
	// Version is the zero value when versions were asked for.
	Version provider.Version
	// attempts are in the order of methods.
	attempts []attempt
	// missing is set when versions or packages are there, but none for the
	// platform.
	missing *provider.PlatformError
}

// attempt is what a method answered.
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

// Kind is [provider.Refused].
func (e *UnresolvedError) Kind() provider.ErrorKind { return provider.Refused }

// Within returns the text for a message that has named the release.
func (e *UnresolvedError) Within(a provider.Address, v provider.Version) string {
	switch {
	case e.Address != a || e.Version != v:
		return e.Error()
	case e.missing != nil:
		return e.text("it", e.missing.Within(a, v))
	}
	return e.text("it", "")
}

// text names what was looked for as it is given, and what is missing of it.
func (e *UnresolvedError) text(what, missing string) string {
	if len(e.attempts) == 0 {
		return fmt.Sprintf("%v: no installation method of the CLI configuration is for %s", provider.ErrProviderNotFound, what)
	}
	var answers []string
	for _, a := range e.attempts {
		answers = append(answers, fmt.Sprintf("%s: %s", a.method, (&provider.Error{Address: e.Address, Version: e.Version, Err: a.err}).Within(e.Address, e.Version)))
	}
	if missing != "" {
		return fmt.Sprintf("%s (%s)", missing, strings.Join(answers, "; "))
	}
	return fmt.Sprintf("no installation method has %s: %s", what, strings.Join(answers, "; "))
}

// Unwrap returns the errors of the methods, in an order that puts what says most
// first.
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

// NoMirrorError says that no oci_mirror of the configuration is for a provider,
// so that nothing says which repository it belongs in.
type NoMirrorError struct {
	Address provider.Address
	// Block is an example of what to write, a provider_installation block.
	Block string
	// Position is where such a block is already, to which the oci_mirror would
	// have to be added; the zero value when there is none.
	Position stricthcl.Position
}

func (e *NoMirrorError) Error() string {
	return fmt.Sprintf("no oci_mirror of the CLI configuration is for %s, so it names no repository", e.Address)
}

// Kind is [provider.Misuse].
func (e *NoMirrorError) Kind() provider.ErrorKind { return provider.Misuse }

// unsupported is the source of a method that is not supported.
type unsupported struct{ method cliconfig.Method }

func (u unsupported) Versions(_ context.Context, a provider.Address) ([]provider.Version, error) {
	return nil, notSupported(a, u.method)
}

func (u unsupported) Release(_ context.Context, a provider.Address, _ provider.Version, _ ...provider.Platform) (provider.Release, error) {
	return provider.Release{}, notSupported(a, u.method)
}

func (u unsupported) Open(_ context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	return nil, 0, notSupported(p.Address, u.method)
}
