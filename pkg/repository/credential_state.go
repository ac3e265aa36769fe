package repository

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// loginState is what is known of a repository's login.
type credentialState struct {
	// last is the login that was given last, nil before the first.
	lastUsed atomic.Pointer[Credential]
	// basic tells that the registry asked for a name and a password.
	isBasic atomic.Bool

	mu sync.Mutex
	// sent are the latest credentials that requests carried.
	sent text.Secrets
}

// maxSent is the number of credentials that are kept per repository. A login takes a
// handful of forms, and each scope has its own token.
const maxSent = 64

// sends records the credentials of a request, because a response may repeat them.
func (s *credentialState) record(credentials text.Secrets) {
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
func (s *credentialState) recorded() text.Secrets {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// errNoName is what registries with basic authentication make of a token.
var errTokenUnsupported = fmt.Errorf("%w: the registry takes a user name and a password only, and no token", provider.ErrDenied)

// isLogin reports whether there is anything to log in with.
func (c Credential) hasSecret() bool { return c.Password+c.RefreshToken+c.AccessToken != "" }

// fail completes an error about the repository, and puts its cause into our words.
func (s *credentialState) fail(about Error, err error) error {
	about.Err = s.translate(err)
	about.Credentials = s.refused(about.Err)
	return &about
}

// refused describes the login that an error refuses.
func (s *credentialState) refused(err error) string {
	answer, isAnswer := errors.AsType[*ResponseError](err)
	login := s.lastUsed.Load()
	refuses := errors.Is(err, errTokenUnsupported) || isAnswer && (answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden)
	if login == nil || !refuses {
		return ""
	}
	text := "a token"
	if login.Username != "" {
		text = "that of " + login.Username
	}
	if login.From != "" {
		text += ", from " + login.From
	}
	return text
}
