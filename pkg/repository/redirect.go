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

// redirect is the trait of that name.
func (r *remoteRepository) redirect(ctx context.Context, d ocispec.Descriptor) (string, error) {
	at := r.blobURL(d)
	ctx = auth.AppendRepositoryScope(context.WithValue(ctx, noRedirectKey{}, at.String()), r.remote.Reference, auth.ActionPull)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // a registry that sends the blob itself need not go on with it
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return "", err
	}
	resp, err := r.remote.Client.Do(req)
	if err != nil {
		return "", r.fail("asking where there is blob", d.Digest.String(), httpclient.RedactError(err))
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode < http.StatusMultipleChoices:
		return "", nil
	case resp.StatusCode >= http.StatusBadRequest:
		return "", r.fail("asking where there is blob", d.Digest.String(), httpclient.NewStatusError(resp))
	}
	// What nobody else can follow is not handed on.
	to, err := at.Parse(resp.Header.Get("Location"))
	if err != nil || !isSignedURL(at, to) {
		return "", nil
	}
	return to.String(), nil
}

// signedElsewhere reports whether somebody without a login may be sent to a URL: it is at
// another host than the registry's, which would want one, and has no login in it.
func isSignedURL(from, to *url.URL) bool {
	return to.Scheme == "https" && to.Host != "" && to.User == nil && !strings.EqualFold(to.Host, from.Host)
}

// stayKey marks a context whose request for a URL is not sent on; one for a token may
// be.
type noRedirectKey struct{}

// isNotAsked is the policy for redirects of requests to a registry: requests that ask
// where they are redirected stop there.
func stopAtRedirect(req *http.Request, via []*http.Request) error {
	if asked, marked := req.Context().Value(noRedirectKey{}).(string); marked && via[0].URL.String() == asked {
		return http.ErrUseLastResponse
	}
	return nil
}

// follow is a client's policy for redirects, after one of ours. A request that has left
// its first origin has no login, even if it returns: net/http takes it away for other
// host names only, and not for other ports.
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
		const most = 10 // net/http's own rule
		if len(via) >= most {
			return fmt.Errorf("more than %d redirects", most)
		}
		return nil
	}
}
