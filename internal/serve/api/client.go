package api

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxResponse limits the size of a response in bytes, and maxValues limits the
	// number of its JSON values. A page of versions is tens of kilobytes in size.
	maxResponse = 8 << 20
	maxValues   = 200_000
	// maxPages limits the number of pages in a list. The largest providers have several
	// hundred versions, with 20 versions per page.
	maxPages = 2000
)

// ErrNoAPI means that a URL does not refer to a tofu-oci server.
var ErrNoAPI = provider.Errorf(provider.NotFound, "no tofu-oci server API found")

// ClientOptions configures a [Client].
type ClientOptions struct {
	// HTTP sends the requests.
	HTTP *http.Client
	// URL is the server's URL, including any path prefix. It must use https. If the
	// host is a loopback address or listed in PlainHTTP, http is also allowed.
	URL *url.URL
	// PlainHTTP lists the hosts, with optional ports, for which plain HTTP is allowed.
	PlainHTTP []string
	// Token is the bearer token for the server. If empty, no token is sent.
	Token string
}

// Client sends requests to the API of one server.
type Client struct {
	options ClientOptions
	base    string
}

// NewClient returns a client. It sends no requests.
func NewClient(o ClientOptions) (*Client, error) {
	u := o.URL
	switch {
	case u == nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("invalid server URL: want a URL such as https://tofu.example.com")
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("invalid server URL %s: want a scheme, a host, and an optional path", u.Redacted())
	case u.Scheme == "http" && !isLoopback(u.Hostname()) && !slices.Contains(o.PlainHTTP, u.Host):
		return nil, fmt.Errorf("%s uses plain HTTP, and %s is neither a loopback address nor listed in --plain-http", u.Redacted(), u.Host)
	}
	base := *u
	base.Path, base.RawPath = strings.TrimRight(u.Path, "/"), ""
	return &Client{options: o, base: base.String() + "/api/v1/providers"}, nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Host returns the server's host. It includes the port if the port is not 443.
func (c *Client) Host() string {
	if host, port, err := net.SplitHostPort(c.options.URL.Host); err == nil && port == "443" {
		return host
	}
	return c.options.URL.Host
}

// Providers returns the providers whose addresses contain all words of the search text.
// If search is empty, it returns all providers.
func (c *Client) Providers(ctx context.Context, search string) (Providers, error) {
	all := Providers{Providers: []ProviderRef{}}
	err := c.pages(ctx, "", search, func(address string) (int, bool, error) {
		var page Providers
		err := c.get(ctx, address, &page)
		all.Providers, all.Total, all.Warnings = append(all.Providers, page.Providers...), page.Total, page.Warnings
		return len(page.Providers), page.Next != "", err
	})
	if httpclient.IsNotFound(err) {
		err = fmt.Errorf("%w at %s: %w", ErrNoAPI, c.options.URL.Redacted(), err)
	}
	return all, err
}

// Provider returns a provider with all of its versions. If the provider doesn't exist,
// it returns [provider.ErrProviderNotFound].
func (c *Client) Provider(ctx context.Context, a provider.Address) (Provider, error) {
	all := Provider{Versions: []VersionRef{}}
	err := c.pages(ctx, path(a.Host.ForDisplay(), a.Namespace, a.Type), "", func(address string) (int, bool, error) {
		var page Provider
		known := len(all.Versions)
		err := c.get(ctx, address, &page)
		page.Versions = slices.Concat(all.Versions, page.Versions)
		all = page
		return len(page.Versions) - known, page.Next != "", err
	})
	if httpclient.IsNotFound(err) {
		err = fmt.Errorf("%w: %s: %w", c.missing(ctx, provider.ErrProviderNotFound), a, err)
	}
	all.Next = ""
	return all, err
}

// Version returns the details of a release. If the version doesn't exist, it returns
// [provider.ErrVersionNotFound].
func (c *Client) Version(ctx context.Context, a provider.Address, v provider.Version) (release Version, err error) {
	err = c.get(ctx, c.base+path(a.Host.ForDisplay(), a.Namespace, a.Type, v.String()), &release)
	if httpclient.IsNotFound(err) {
		err = fmt.Errorf("%w: %s %s: %w", c.missing(ctx, provider.ErrVersionNotFound), a, v, err)
	}
	return release, err
}

// missing explains a 404 response. If the server has an API, missing returns notFound.
// Otherwise, it returns [ErrNoAPI].
func (c *Client) missing(ctx context.Context, notFound error) error {
	err := c.get(ctx, c.base, &Providers{})
	if httpclient.IsNotFound(err) || errors.Is(err, ErrNoAPI) {
		return ErrNoAPI
	}
	return notFound
}

// path returns the escaped path elements for a URL.
func path(elements ...string) string {
	var b strings.Builder
	for _, element := range elements {
		b.WriteString("/" + url.PathEscape(element))
	}
	return b.String()
}

// pages reads all pages of a list. It counts pages and ignores the URL of the next
// page, because this URL can be intended for other clients.
func (c *Client) pages(ctx context.Context, path, search string, read func(address string) (items int, more bool, err error)) error {
	for page := 1; page <= maxPages; page++ {
		query := url.Values{"page": {strconv.Itoa(page)}}
		if search != "" {
			query.Set("search", search)
		}
		items, more, err := read(c.base + path + "?" + query.Encode())
		if err != nil || !more {
			return err
		}
		if items == 0 {
			return fmt.Errorf("%s: empty page before the end of the list", c.base+path)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: the list exceeds %d pages", c.base+path, maxPages)
}

// get sends a GET request and decodes the response.
func (c *Client) get(ctx context.Context, address string, into any) error {
	target, err := url.Parse(address)
	if err != nil {
		return err
	}
	header := http.Header{"Accept": {"application/json, " + ProblemType}}
	if c.options.Token != "" {
		header.Set("Authorization", "Bearer "+c.options.Token)
	}
	doc, err := httpclient.Get(ctx, c.options.HTTP, target, httpclient.Request{Header: header, Limit: maxResponse})
	if err != nil {
		return err
	}
	if mediaType, _, _ := mime.ParseMediaType(doc.Header.Get("Content-Type")); mediaType != "application/json" {
		return doc.Error(fmt.Errorf("%w at %s: unexpected content type %.100q", ErrNoAPI, c.options.URL.Redacted(), mediaType))
	}
	if err := bounded.DecodeJSON(doc.Bytes, into, maxValues); err != nil {
		return doc.Error(fmt.Errorf("%w at %s: parsing the response: %w", ErrNoAPI, c.options.URL.Redacted(), err))
	}
	return nil
}
