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

// credentialState tracks how a repository's credentials are used.
type credentialState struct {
	// lastUsed points to the credentials that were used last. It is nil if none were
	// used.
	lastUsed atomic.Pointer[Credential]
	// isBasic reports whether the registry uses basic authentication.
	isBasic atomic.Bool
	// missing points to the reason that no credentials could be looked up. It is nil if
	// they could. Anonymous requests are sent then, and errors about missing access
	// contain the reason.
	missing atomic.Pointer[error]

	mu sync.Mutex
	// sent contains the credentials from the latest requests.
	sent text.Secrets
}

// maxSent is the maximum number of credentials in credentialState.sent. It is
// sufficient for a few encodings of the credentials and a separate token for each
// scope.
const maxSent = 64

// record records the credentials in a request, because a response can repeat them.
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

// recorded returns the credentials from the latest requests.
func (s *credentialState) recorded() text.Secrets {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// errTokenUnsupported is returned if a registry uses basic authentication but the
// credentials contain only a token.
var errTokenUnsupported = fmt.Errorf("%w: registry accepts only a user name and password, not a token", provider.ErrDenied)

// hasSecret reports whether the credentials contain a password or a token.
func (c Credential) hasSecret() bool { return c.Password+c.RefreshToken+c.AccessToken != "" }

// fail returns about with the translated cause err and, if the registry rejected the
// credentials, a description of the credentials.
func (s *credentialState) fail(about Error, err error) error {
	about.Err = s.translate(err)
	about.Credentials = s.refused(about.Err)
	return &about
}

// refused describes the credentials if the registry rejected them.
func (s *credentialState) refused(err error) string {
	response, isAnswer := errors.AsType[*ResponseError](err)
	login := s.lastUsed.Load()
	refuses := errors.Is(err, errTokenUnsupported) || isAnswer && (response.Status == http.StatusUnauthorized || response.Status == http.StatusForbidden)
	if login == nil || !refuses {
		return ""
	}
	text := "a token"
	if login.Username != "" {
		text = "user " + login.Username
	}
	if login.From != "" {
		text += " from " + login.From
	}
	return text
}
