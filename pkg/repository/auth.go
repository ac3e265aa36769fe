package repository

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxTokenResponse is the maximum size of a token service's response, in bytes.
const maxTokenResponse = 128 << 10

// authenticator is the first layer of a registry's client. See [Options.client]. It
// responds to the challenges of one registry and never sends credentials or tokens to
// another host.
//
// It replaces oras's auth.Client, which rejects all token services at private addresses
// and can't be configured to allow specific services. auth.Client also caches tokens by
// the challenge's scopes. Therefore, the registry first rejects every request with new
// scopes, and each concurrent request needs a separate token.
type authenticator struct {
	at    registry.Reference
	find  func(ctx context.Context, repository string) (Credential, error) // if nil, access is anonymous
	state *credentialState
	// registry sends requests to the registry, and tokens sends requests to its token
	// service.
	registry, tokens *http.Client
	realms           realmPolicy
	// headers maps scopes, or basicKey, to the value of the Authorization header. The
	// value is empty if the registry requires no authentication.
	headers memo.Memo[string, string]
}

// basicKey is used instead of scopes if the registry uses basic authentication, which
// has no scopes.
const basicKey = "basic"

// Do implements oras's [remote.Client]. The context of a request contains its scopes.
func (a *authenticator) Do(req *http.Request) (*http.Response, error) {
	if req.Header.Get("Authorization") != "" || req.URL.Host != a.at.Host() {
		return a.registry.Do(req)
	}
	// 1. Send the first request with these scopes. Concurrent requests with the same
	// scopes wait for its response, because the registry would also reject them.
	var resp *http.Response
	var failure error
	answered, isOurs := false, false
	key := a.key(req)
	header, err := a.headers.Get(req.Context(), key, func(ctx context.Context) (header string, err error) {
		resp, failure = a.registry.Do(req) //nolint:bodyclose // closed by authorize or by Do's caller
		if !isChallenge(req, resp, failure) || !isRewindable(req) {
			answered = true
			return "", nil
		}
		isOurs = true
		return a.authorize(ctx, resp)
	})
	switch {
	case err != nil:
		return nil, err
	case answered:
		return resp, failure
	}
	// 2. Repeat the first request, and send the other requests, with the header.
	resp, err = a.send(req, header)
	if isOurs || !isChallenge(req, resp, err) || !isRewindable(req) {
		return resp, err
	}
	// 3. Replace an expired token.
	header, err = a.headers.Refresh(req.Context(), a.key(req), func(ctx context.Context) (string, error) { return a.authorize(ctx, resp) })
	if err != nil {
		return nil, err
	}
	return a.send(req, header)
}

func (a *authenticator) key(req *http.Request) string {
	if a.state.isBasic.Load() {
		return basicKey
	}
	return strings.Join(auth.GetAllScopesForHost(req.Context(), req.URL.Host), " ")
}

// isChallenge reports whether the registry itself, not a host that it redirected to,
// requests credentials.
func isChallenge(req *http.Request, resp *http.Response, err error) bool {
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !httpclient.SameOrigin(req.URL, resp.Request.URL) {
		return false
	}
	_, ok := challengeOf(resp.Header)
	return ok
}

func isRewindable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// send sends a copy of req, because req might have been sent before.
func (a *authenticator) send(req *http.Request, header string) (*http.Response, error) {
	again := req.Clone(req.Context())
	if header != "" {
		again.Header.Set("Authorization", header)
	}
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		again.Body = body
	}
	return a.registry.Do(again)
}

// authorize closes resp and returns the Authorization header for its challenge.
func (a *authenticator) authorize(ctx context.Context, resp *http.Response) (string, error) {
	_ = resp.Body.Close()
	asked, _ := challengeOf(resp.Header)
	c, err := a.credential(ctx)
	if err != nil {
		return "", err
	}
	if asked.isBasic {
		return a.basic(c)
	}
	if c.AccessToken != "" {
		return "Bearer " + c.AccessToken, nil
	}
	token, err := a.token(ctx, asked, auth.GetAllScopesForHost(ctx, a.at.Host()), c)
	return "Bearer " + token, err
}

// credential returns the credentials for the repository.
func (a *authenticator) credential(ctx context.Context) (c Credential, err error) {
	if a.find == nil {
		return c, nil
	}
	c, err = a.find(ctx, a.at.Registry+"/"+a.at.Repository)
	if errors.Is(err, exec.ErrNotFound) {
		// The program that stores the credentials is missing. Public content needs no
		// credentials.
		missing := provider.Errorf(provider.Denied, "looking up credentials for %s: %w", a.at.Registry, err)
		a.state.missing.Store(&missing)
		return Credential{}, nil
	}
	if err != nil {
		return c, fmt.Errorf("looking up credentials for %s: %w", a.at.Registry, err)
	}
	if c.hasSecret() {
		a.state.lastUsed.Store(&c)
	}
	return c, nil
}

func (a *authenticator) basic(c Credential) (string, error) {
	switch {
	case !c.hasSecret() && c.Username == "":
		return "", fmt.Errorf("%w: registry requires credentials, but none were found", provider.ErrForbidden)
	case c.Username == "" || c.Password == "":
		return "", errTokenUnsupported
	}
	header := basicHeader(c)
	a.headers.Put(basicKey, header)
	a.state.isBasic.Store(true)
	return header, nil
}

func basicHeader(c Credential) string {
	req := http.Request{Header: http.Header{}}
	req.SetBasicAuth(c.Username, c.Password)
	return req.Header.Get("Authorization")
}

// token requests a token from the challenge's token service. It sends a GET request
// with the credentials, or a POST request with an identity token. See
// https://distribution.github.io/distribution/spec/auth/token/ and
// https://distribution.github.io/distribution/spec/auth/oauth/.
func (a *authenticator) token(ctx context.Context, asked challenge, scopes []string, c Credential) (string, error) {
	realm, err := url.Parse(asked.realm)
	if err != nil || realm.Host == "" {
		return "", errors.New("registry response does not specify a valid token service")
	}
	realm.User, realm.Fragment, realm.RawFragment = nil, "", ""
	if err := a.realms.check(ctx, realm, c.hasSecret()); err != nil {
		return "", err
	}
	scopes = auth.CleanScopes(append(scopes, strings.Fields(asked.scope)...))
	req, err := tokenRequest(ctx, realm, asked.service, scopes, c)
	if err != nil {
		return "", err
	}
	resp, err := a.tokens.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](httpclient.RedactError(err)); ok {
			err = failed.Err
		}
		return "", fmt.Errorf("requesting a token from %s: %w", realm.Host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return "", responseError(resp)
	}
	var answer struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxTokenResponse)).Decode(&answer); err != nil {
		return "", fmt.Errorf("decoding the response from token service %s: %w", realm.Host, err)
	}
	if answer.AccessToken != "" {
		return answer.AccessToken, nil
	}
	if answer.Token == "" {
		return "", fmt.Errorf("response from token service %s contains no token", realm.Host)
	}
	return answer.Token, nil
}

func tokenRequest(ctx context.Context, realm *url.URL, service string, scopes []string, c Credential) (*http.Request, error) {
	if c.RefreshToken != "" {
		form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {c.RefreshToken}, "service": {service}, "client_id": {"tofu-oci"}}
		if len(scopes) > 0 {
			form.Set("scope", strings.Join(scopes, " "))
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, realm.String(), strings.NewReader(form.Encode()))
		if err == nil {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		return req, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, realm.String(), nil)
	if err != nil {
		return nil, err
	}
	query := req.URL.Query()
	if service != "" {
		query.Set("service", service)
	}
	for _, scope := range scopes {
		query.Add("scope", scope)
	}
	req.URL.RawQuery = query.Encode()
	if c.Username != "" || c.Password != "" {
		req.SetBasicAuth(c.Username, c.Password)
	}
	return req, nil
}

type challenge struct {
	isBasic               bool
	realm, service, scope string
}

// parameter matches a parameter of a challenge (RFC 9110, section 11.2).
var parameter = regexp.MustCompile(`([A-Za-z_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))`)

var escaped = regexp.MustCompile(`\\(.)`)

// challengeOf returns the first challenge with a supported scheme.
func challengeOf(h http.Header) (c challenge, ok bool) {
	for _, text := range h.Values("Www-Authenticate") {
		scheme, parameters, _ := strings.Cut(text, " ")
		switch strings.ToLower(scheme) {
		case "basic":
			return challenge{isBasic: true}, true
		case "bearer":
			for _, p := range parameter.FindAllStringSubmatch(parameters, -1) {
				value := escaped.ReplaceAllString(p[2], "$1") + p[3]
				switch strings.ToLower(p[1]) {
				case "realm":
					c.realm = value
				case "service":
					c.service = value
				case "scope":
					c.scope = value
				}
			}
			return c, true
		}
	}
	return challenge{}, false
}
