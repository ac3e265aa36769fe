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
	"time"

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
	// headers maps scopes, or basicKey, to the Authorization header.
	headers memo.Memo[string, authorization]
}

// basicKey is used instead of scopes if the registry uses basic authentication, which
// has no scopes.
const basicKey = "basic"

// minValidity is the minimum age of an Authorization header that is replaced although
// the registry doesn't request credentials. It limits how often credentials without
// permission are looked up again.
const minValidity = time.Minute

// authorization is the value of an Authorization header, and how to replace it.
type authorization struct {
	// header is empty if the registry requires no authentication.
	header string
	// asked is the challenge that the header responds to.
	asked challenge
	// since is when the header was requested.
	since time.Time
}

// mayHaveExpired reports whether a response to a request with the header can mean that
// the header has expired. ECR rejects an expired password with status 403 and no
// challenge, and ECR Public an expired token with status 400.
func (h authorization) mayHaveExpired(req *http.Request, resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		return h.header != "" && time.Since(h.since) >= minValidity && httpclient.SameOrigin(req.URL, resp.Request.URL)
	}
	return false
}

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
	used, err := a.headers.Get(req.Context(), key, func(ctx context.Context) (authorization, error) {
		resp, failure = a.registry.Do(req) //nolint:bodyclose // closed here or by Do's caller
		asked, ok := challengeIn(req, resp, failure)
		if !ok || !isRewindable(req) {
			answered = true
			return authorization{}, nil
		}
		isOurs = true
		_ = resp.Body.Close()
		return a.authorize(ctx, asked)
	})
	switch {
	case err != nil:
		return nil, err
	case answered:
		return resp, failure
	}
	// 2. Repeat the first request, and send the other requests, with the header.
	resp, err = a.send(req, used.header)
	if isOurs || err != nil || !isRewindable(req) {
		return resp, err
	}
	// 3. Replace an expired header. The registry might not repeat its challenge.
	asked, ok := challengeIn(req, resp, nil)
	if !ok {
		if !used.mayHaveExpired(req, resp) {
			return resp, nil
		}
		asked = used.asked
	}
	renewed, err := a.renew(req, used, asked)
	if err == nil && renewed.header == used.header {
		return resp, nil // the registry would reject it again
	}
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	return a.send(req, renewed.header)
}

// renew replaces the header that the registry rejected, unless another request has
// already replaced it.
func (a *authenticator) renew(req *http.Request, rejected authorization, asked challenge) (authorization, error) {
	key := a.key(req)
	return a.headers.Refresh(req.Context(), key, func(ctx context.Context) (authorization, error) {
		if current, ok := a.headers.Lookup(key); ok && current.since.After(rejected.since) {
			return current, nil
		}
		return a.authorize(ctx, asked)
	})
}

func (a *authenticator) key(req *http.Request) string {
	if a.state.isBasic.Load() {
		return basicKey
	}
	return strings.Join(auth.GetAllScopesForHost(req.Context(), req.URL.Host), " ")
}

// challengeIn returns the challenge in a response if the registry itself, not a host
// that it redirected to, requests credentials.
func challengeIn(req *http.Request, resp *http.Response, err error) (c challenge, ok bool) {
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !httpclient.SameOrigin(req.URL, resp.Request.URL) {
		return challenge{}, false
	}
	return challengeOf(resp.Header)
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

// authorize returns the Authorization header for a challenge.
func (a *authenticator) authorize(ctx context.Context, asked challenge) (h authorization, err error) {
	h = authorization{asked: asked, since: time.Now()}
	c, err := a.credential(ctx)
	switch {
	case err != nil:
		return h, err
	case asked.isBasic:
		if h.header, err = basicHeader(c); err == nil {
			a.headers.Put(basicKey, h)
			a.state.isBasic.Store(true)
		}
	case c.AccessToken != "":
		h.header = "Bearer " + c.AccessToken
	default:
		var token string
		token, err = a.token(ctx, asked, auth.GetAllScopesForHost(ctx, a.at.Host()), c)
		h.header = "Bearer " + token
	}
	return h, err
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

func basicHeader(c Credential) (string, error) {
	switch {
	case !c.hasSecret() && c.Username == "":
		return "", fmt.Errorf("%w: registry requires credentials, but none were found", provider.ErrForbidden)
	case c.Username == "" || c.Password == "":
		return "", errTokenUnsupported
	}
	req := http.Request{Header: http.Header{}}
	req.SetBasicAuth(c.Username, c.Password)
	return req.Header.Get("Authorization"), nil
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
