package origin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// discoveryPath is the path of the document that lists the services of a host. See
	// https://opentofu.org/docs/internals/remote-service-discovery/.
	discoveryPath = "/.well-known/terraform.json"
	// providersService is the key of the provider registry protocol in the discovery
	// document.
	providersService = "providers.v1"
	// modulesService is the key of the module registry protocol.
	modulesService = "modules.v1"
	// maxDiscovery is the maximum size of the discovery document in bytes. A typical
	// document is a few hundred bytes in size.
	maxDiscovery = 1 << 20
	// maxDiscoveryValues is the maximum number of JSON values in the discovery
	// document. A service uses one value.
	maxDiscoveryValues = 1000
)

// ErrNoRegistry is returned if a host has no registry for providers or modules. It is not a
// [provider.ErrProviderNotFound], because OpenTofu does not try other sources in this
// case.
var ErrNoRegistry = provider.Errorf(provider.NotFound, "the host has no registry of this type")

// service is a provider or module registry.
type service struct {
	base  *url.URL // ends with a slash
	token Token
}

// header returns the headers for requests to the registry.
func (s service) header() http.Header { return registryHeader(s.token) }

// at returns a URL below the URL of a provider or module.
func (s service) at(a provider.Address, elements ...string) *url.URL {
	all := append([]string{a.Namespace}, strings.Split(a.Type, "/")...)
	all = append(all, elements...)
	for i, element := range all {
		all[i] = url.PathEscape(element)
	}
	return s.base.JoinPath(all...)
}

func registryHeader(token Token) http.Header {
	h := http.Header{"Accept": {"application/json"}}
	token.Authorize(h)
	return h
}

// noun returns "provider" or "module".
func (c client) noun() string { return strings.TrimSuffix(c.service, "s.v1") }

// notFound returns the error for an object that the registry does not have.
func (c client) notFound() error {
	if c.service == modulesService {
		return ErrModuleNotFound
	}
	return provider.ErrProviderNotFound
}

// discover returns the registry of a host from the configuration or from the
// discovery document.
func (c client) discover(ctx context.Context, host svchost.Hostname) (service, error) {
	token, err := c.token(ctx, host)
	if err != nil {
		return service{}, fmt.Errorf("looking up the token for %s: %w", host.ForDisplay(), err)
	}
	at := &url.URL{Scheme: "https", Host: string(host), Path: discoveryPath}
	var base *url.URL
	if known, ok := c.services[host]; ok {
		base, err = httpclient.Resolve(at, known)
	} else {
		base, err = c.requestDiscovery(ctx, at, token)
	}
	if err != nil {
		return service{}, fmt.Errorf("finding the %s registry of %s: %w", c.noun(), host.ForDisplay(), token.Refused(err))
	}
	if !strings.HasSuffix(base.Path, "/") {
		base.Path += "/"
		if base.RawPath != "" {
			base.RawPath += "/"
		}
	}
	return service{base, token}, nil
}

// requestDiscovery returns the URL of a host's registry from the discovery document.
func (c client) requestDiscovery(ctx context.Context, at *url.URL, token Token) (*url.URL, error) {
	doc, err := httpclient.Get(ctx, c.http, at, httpclient.Request{Header: registryHeader(token), Limit: maxDiscovery})
	if httpclient.IsNotFound(err) {
		return nil, fmt.Errorf("%w: %w", ErrNoRegistry, err)
	}
	if err != nil {
		return nil, err
	}
	if err := doc.RequireJSON(); err != nil {
		return nil, err
	}
	var services map[string]json.RawMessage
	if err := doc.DecodeJSON(&services, maxDiscoveryValues); err != nil {
		return nil, err
	}
	var text string
	raw, offered := services[c.service]
	if !offered {
		return nil, fmt.Errorf("%w: the discovery document has no %q", ErrNoRegistry, c.service)
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, doc.Error(fmt.Errorf("GET %s: %q is not a string", httpclient.RedactURL(doc.URL), c.service))
	}
	base, err := httpclient.Resolve(doc.URL, text)
	return base, doc.Error(err)
}
