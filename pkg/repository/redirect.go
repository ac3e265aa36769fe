package repository

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
)

// redirect implements [Traits.Redirect].
func (r *remoteRepository) redirect(ctx context.Context, d ocispec.Descriptor) (string, error) {
	at := r.blobURL(d)
	ctx = auth.AppendRepositoryScope(context.WithValue(ctx, stopKey{}, stopRule(always)), r.remote.Reference, auth.ActionPull)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // stops the transfer if the registry sends the blob itself
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return "", err
	}
	resp, err := r.remote.Client.Do(req)
	if err != nil {
		return "", r.fail("requesting the location of blob", d.Digest.String(), httpclient.RedactError(err))
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

// stopKey is the context key of a [stopRule]. It doesn't apply to token requests.
type stopKey struct{}

// stopRule reports whether a redirect isn't followed, so that the response of the
// registry is the redirect itself.
type stopRule func(from, to *url.URL) bool

func always(_, _ *url.URL) bool { return true }

// atOrigin returns a context for requests for which only the registry itself has the
// response. GHCR, for example, redirects requests for referrers to a web server.
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
// returns to that origin. net/http removes them only if the host name differs, but not
// if only the port differs.
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
