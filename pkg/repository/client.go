package repository

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// complete returns the options with defaults for missing values.
func (o Options) complete() (Options, error) {
	if o.HTTP == nil {
		var err error
		if o.HTTP, err = httpclient.New(httpclient.Options{}); err != nil {
			return o, err
		}
	}
	if o.Buffers == nil {
		o.Buffers = &transfer.BufferPool{}
	}
	return o, nil
}

// client returns the HTTP client for one repository. It is a chain of layers, which a
// request passes through in this order:
//
//  1. authentication: adds the credentials or the token (auth.go)
//  2. realm policy: restricts token services and redirects (realm.go)
//  3. responses: records the credentials of requests, marks requests to the registry,
//     checks responses (responses.go)
//  4. retries, concurrency limit, tracing, transport: [httpclient.New]
func (o Options) client(at registry.Reference) *authenticator {
	login := &credentialState{}
	realms := realmPolicy{
		registry: at.Host(), plain: slices.Contains(o.PlainHTTP, at.Registry), allowed: o.TokenRealms,
		isProxied: func(u *url.URL) bool { return httpclient.IsProxied(o.HTTP, u) }, lookup: net.DefaultResolver.LookupNetIP,
	}
	checked := checkResponses(o.HTTP.Transport, at.Host(), login)
	return &authenticator{
		at: at, find: o.Credential, state: login, realms: realms,
		registry: &http.Client{Transport: checked, Timeout: o.HTTP.Timeout, CheckRedirect: follow(o.HTTP.CheckRedirect, stopAtRedirect)},
		tokens:   &http.Client{Transport: checked, Timeout: o.HTTP.Timeout, CheckRedirect: follow(o.HTTP.CheckRedirect, realms.checkRedirect)},
	}
}

// remoteRegistry returns the registry at host, which is "host" or "host:port".
func (o Options) remoteRegistry(host string, client *authenticator) *remote.Registry {
	return &remote.Registry{RepositoryOptions: remote.RepositoryOptions{
		Reference: registry.Reference{Registry: host}, Client: client, PlainHTTP: slices.Contains(o.PlainHTTP, host), MaxMetadataBytes: artifact.MaxManifestSize,
	}}
}

// redirect implements [Capabilities.Redirect].
func (r *remoteRepository) redirect(ctx context.Context, d ocispec.Descriptor) (string, error) {
	at := r.blobURL(d)
	ctx, cancel := context.WithCancel(context.WithValue(ctx, stopKey{}, stopRule(always)))
	defer cancel() // stops the transfer if the registry sends the blob itself
	resp, err := r.request(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", r.fail("requesting the location of blob", d.Digest.String(), err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode < http.StatusMultipleChoices:
		return "", nil
	case resp.StatusCode >= http.StatusBadRequest:
		return "", r.fail("requesting the location of blob", d.Digest.String(), httpclient.NewStatusError(resp))
	}
	// Return only URLs that other clients can use.
	to, err := at.Parse(resp.Header.Get("Location"))
	if err != nil || !isSignedURL(at, to) {
		return "", nil
	}
	return to.String(), nil
}

// isSignedURL reports whether a client without credentials can be redirected to a URL.
// The URL must not contain credentials. Its host must differ from the registry's host,
// because the registry would require credentials.
func isSignedURL(from, to *url.URL) bool {
	return to.Scheme == "https" && to.Host != "" && to.User == nil && !strings.EqualFold(to.Host, from.Host)
}

// stopKey is the context key of a [stopRule]. The rule doesn't apply to token requests.
type stopKey struct{}

// stopRule reports whether a client returns a redirect instead of following it.
type stopRule func(from, to *url.URL) bool

func always(_, _ *url.URL) bool { return true }

// atOrigin returns a context for requests that only the registry itself can answer.
// GHCR, for example, redirects requests for referrers to a web server.
func atOrigin(ctx context.Context) context.Context {
	return context.WithValue(ctx, stopKey{}, stopRule(func(from, to *url.URL) bool { return !httpclient.SameOrigin(from, to) }))
}

// stopAtRedirect is the redirect policy for requests to a registry.
func stopAtRedirect(req *http.Request, via []*http.Request) error {
	if stop, ok := req.Context().Value(stopKey{}).(stopRule); ok && stop(via[0].URL, req.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// follow returns a redirect policy that combines policy with check. It removes the
// credentials from requests that have left their first origin, even if a later redirect
// returns to that origin. net/http removes the credentials if the host name differs,
// but not if only the port differs.
func follow(policy, check func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if err := check(req, via); err != nil {
			return err
		}
		left := func(hop *http.Request) bool { return !httpclient.SameOrigin(via[0].URL, hop.URL) }
		if left(req) || slices.ContainsFunc(via, left) {
			req.Header.Del("Authorization")
		}
		if policy != nil {
			return policy(req, via)
		}
		const most = 10 // as in net/http
		if len(via) >= most {
			return fmt.Errorf("more than %d redirects", most)
		}
		return nil
	}
}
