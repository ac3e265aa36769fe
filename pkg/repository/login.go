package repository

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// LoginError says that a registry refuses the login that it was given, or can't
// take it. Without a login there is none of these.
type LoginError struct {
	// Username is whose it is, empty for a token.
	Username string
	// From is where it comes from, as [Credential] has it.
	From string
	Err  error
}

func (e *LoginError) Error() string {
	whose := "a token"
	if e.Username != "" {
		whose = "that of " + e.Username
	}
	text := fmt.Sprintf("%v; the login was %s", e.Err, whose)
	if e.From != "" {
		text += ", from " + e.From
	}
	return text
}

// Unwrap gives the registry's answer, or [provider.ErrDenied].
func (e *LoginError) Unwrap() error { return e.Err }

// LookupError says that nobody knows whether there is a login for a registry: the
// file or the helper that may have it can't be asked.
type LookupError struct {
	// Registry is "host" or "host:port".
	Registry string
	Err      error
}

func (e *LookupError) Error() string {
	return fmt.Sprintf("looking up the login for %s: %v", e.Registry, e.Err)
}

// Unwrap gives what went wrong.
func (e *LookupError) Unwrap() error { return e.Err }

// Kind is [provider.Denied] if the credential helper does not exist.
func (e *LookupError) Kind() provider.ErrorKind {
	if errors.Is(e.Err, exec.ErrNotFound) {
		return provider.Denied
	}
	return provider.Unknown
}

// loginState is what is known of a repository's login.
type loginState struct {
	// last is the login that was given last, nil before the first.
	last atomic.Pointer[Credential]
	// basic tells that the registry asked for a name and a password.
	basic atomic.Bool

	mu sync.Mutex
	// sent are the latest credentials that requests carried.
	sent text.Secrets
}

// maxSent is the number of credentials that are kept per repository. A login takes a
// handful of forms, and each scope has its own token.
const maxSent = 64

// sends records the credentials of a request, because a response may repeat them.
func (s *loginState) sends(credentials text.Secrets) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range credentials {
		if !slices.Contains(s.sent, c) {
			s.sent = append(s.sent, c)
		}
	}
	s.sent = slices.Delete(s.sent, 0, max(len(s.sent)-maxSent, 0))
}

// credentials returns the recorded credentials.
func (s *loginState) credentials() text.Secrets {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// errNoName is what registries with basic authentication make of a token.
var errNoName = fmt.Errorf("%w: the registry takes a user name and a password only, and no token", provider.ErrDenied)

// isLogin tells whether there is anything to log in with.
func (c Credential) isLogin() bool { return c.Password+c.RefreshToken+c.AccessToken != "" }

// refused names the login that an answer refuses.
func (s *loginState) refused(err error) error {
	answer, ok := errors.AsType[*ResponseError](err)
	login := s.last.Load()
	if !ok || login == nil || answer.Status != http.StatusUnauthorized && answer.Status != http.StatusForbidden {
		return err
	}
	return &LoginError{Username: login.Username, From: login.From, Err: err}
}
