package origin

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// discoveryPath is where a host tells which services it offers.
	// https://opentofu.org/docs/internals/remote-service-discovery/
	discoveryPath = "/.well-known/terraform.json"
	// providersService is the name of the provider registry protocol there.
	providersService = "providers.v1"
	// maxDiscovery bounds the discovery document, in bytes; real ones have a
	// few hundred.
	maxDiscovery = 1 << 20
	// maxDiscoveryValues bounds the JSON values in it; a service takes one.
	maxDiscoveryValues = 1000
)

// ErrNoRegistry says that a host offers no provider registry at all. It is no
// [provider.ErrProviderNotFound], since OpenTofu doesn't look further either.
var ErrNoRegistry = provider.Errorf(provider.NotFound, "the host offers no provider registry")

// service is a provider registry.
type service struct {
	base  *url.URL // ends with a slash
	token Token
}

// header returns what is sent along to the registry itself.
func (s service) header() http.Header { return registryHeader(s.token) }

func registryHeader(token Token) http.Header {
	h := http.Header{"Accept": {"application/json"}}
	if token.Value != "" {
		h.Set("Authorization", "Bearer "+token.Value)
	}
	return h
}

// discover finds a host's provider registry, by what is known of it or by asking
// the host.
func (c client) discover(ctx context.Context, host svchost.Hostname) (service, error) {
	token, err := c.token(ctx, host)
	found := service{token: token}
	if err != nil {
		return service{}, fmt.Errorf("looking up the token for %s: %w", host.ForDisplay(), err)
	}
	at := &url.URL{Scheme: "https", Host: string(host), Path: discoveryPath}
	var base *url.URL
	if known, ok := c.services[host]; ok {
		base, err = resolveURL(at, known)
	} else {
		base, err = c.askHost(ctx, at, token)
	}
	if err != nil {
		return service{}, fmt.Errorf("finding the provider registry of %s: %w", host.ForDisplay(), found.refused(err))
	}
	if !strings.HasSuffix(base.Path, "/") {
		base.Path += "/"
		if base.RawPath != "" {
			base.RawPath += "/"
		}
	}
	found.base = base
	return found, nil
}

// askHost asks the host where its provider registry is.
func (c client) askHost(ctx context.Context, at *url.URL, token Token) (*url.URL, error) {
	doc, err := httpclient.Get(ctx, c.http, at, httpclient.Request{Header: registryHeader(token), Limit: maxDiscovery})
	if isStatus(err, http.StatusNotFound) {
		return nil, fmt.Errorf("%w: %w", ErrNoRegistry, err)
	}
	if err != nil {
		return nil, err
	}
	contentType := doc.Header.Get("Content-Type")
	if mediaType, _, err := mime.ParseMediaType(contentType); err != nil || mediaType != "application/json" {
		return nil, doc.Error(fmt.Errorf("GET %s: the answer is of type %q and not application/json%s",
			httpclient.RedactURL(doc.URL), contentType, colonExcerpt(doc)))
	}
	var services map[string]json.RawMessage
	if err := decode(doc, &services, maxDiscoveryValues); err != nil {
		return nil, err
	}
	var text string
	raw, offered := services[providersService]
	if !offered {
		return nil, fmt.Errorf("%w: its discovery document has no %q", ErrNoRegistry, providersService)
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, doc.Error(fmt.Errorf("GET %s: %q is not a string", httpclient.RedactURL(doc.URL), providersService))
	}
	base, err := resolveURL(doc.URL, text)
	return base, doc.Error(err)
}

// resolveURL reads a URL that a document has, relative to where the document
// came from. Only https passes: what follows decides which bytes are trusted,
// and may carry a token.
func resolveURL(base *url.URL, text string) (*url.URL, error) {
	ref, err := url.Parse(text)
	if err != nil {
		return nil, httpclient.RedactError(err)
	}
	u := base.ResolveReference(ref)
	if u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("%s is refused: only https is used", httpclient.RedactURL(u))
	}
	return u, nil
}
