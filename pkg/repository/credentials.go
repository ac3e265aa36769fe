package repository

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"

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
	// missing points to the reason that no credentials could be looked up, or is nil.
	// If it is set, requests are anonymous, and errors about missing access contain the
	// reason.
	missing atomic.Pointer[error]

	mu sync.Mutex
	// sent contains the credentials from the latest requests.
	sent text.Secrets
}

// maxSent is the maximum number of credentials in credentialState.sent. It is
// sufficient for a few encodings of the credentials and a separate token for each
// scope.
const maxSent = 64

// record remembers the credentials that a request contains, so that translate can remove
// them from error texts if a response repeats them.
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

func (s *credentialState) recorded() text.Secrets {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// errTokenUnsupported is returned if a registry uses basic authentication but the
// credentials contain only a token.
var errTokenUnsupported = fmt.Errorf("%w: registry accepts only a user name and password, not a token", provider.ErrForbidden)

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

// CheckCredentials requests /v2/ from a registry with the credentials from
// [Options.Credential]. host is "host" or "host:port". If the registry rejects the
// credentials, CheckCredentials returns an *[Error] whose Credentials field
// is set. required reports whether the registry requires credentials. A registry that
// permits anonymous access might accept any credentials. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#determining-support.
func CheckCredentials(ctx context.Context, host string, o Options) (required bool, err error) {
	if o, err = o.complete(); err != nil {
		return false, err
	}
	client := o.client(registry.Reference{Registry: host})
	base := o.remoteRegistry(host, client)
	err = base.Ping(ctx)
	required = client.state.lastUsed.Load() != nil
	if err == nil && !required && o.Credential != nil {
		required, err = sendUnrequested(ctx, base, client)
	}
	if err == nil {
		return required, nil
	}
	failure := client.state.fail(Error{Op: "logging in to", Registry: host}, err)
	if errors.Is(failure, ErrNotFound) {
		return required, fmt.Errorf("no OCI registry found, because /v2/ is missing: %w", failure)
	}
	return required, failure
}

// sendUnrequested sends the credentials to a registry that permits anonymous access,
// because some of these registries still verify the credentials they receive.
func sendUnrequested(ctx context.Context, at *remote.Registry, client *authenticator) (required bool, err error) {
	scheme := "https"
	if at.PlainHTTP {
		scheme = "http"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+at.Reference.Host()+"/v2/", nil)
	if err != nil {
		return false, err
	}
	c, err := client.credential(ctx)
	if err != nil {
		return false, err
	}
	if c.Username == "" || c.Password == "" {
		return false, nil // a token is sent only in response to a challenge
	}
	req.SetBasicAuth(c.Username, c.Password)
	resp, err := at.Client.Do(req)
	if err != nil {
		return false, err
	}
	wanted, _, _ := strings.Cut(resp.Header.Get("Www-Authenticate"), " ")
	if resp.StatusCode == http.StatusUnauthorized && !strings.EqualFold(wanted, "bearer") {
		return true, responseError(resp)
	}
	return false, resp.Body.Close()
}
