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
	// maxAnswer bounds an answer, in bytes, and maxValues the JSON values in it. A page
	// of versions has some tens of kilobytes.
	maxResponse = 8 << 20
	maxValues   = 200_000
	// maxPages bounds a list. The largest providers have some hundreds of versions, 20 a
	// page.
	maxPages = 2000
)

// ErrNoAPI says that there is no API of a tofu-oci server at a URL.
var ErrNoAPI = provider.Errorf(provider.NotFound, "there is no API of a tofu-oci server")

// ClientOptions are the options of a [Client].
type ClientOptions struct {
	// HTTP sends the requests.
	HTTP *http.Client
	// URL is where clients reach the server, with the path that stands before all of its
	// own. It is https; http is for this machine, and for the hosts of PlainHTTP.
	URL *url.URL
	// PlainHTTP lists hosts, with their port if they have one, that are spoken to
	// without TLS.
	PlainHTTP []string
	// Token is sent to the server; empty is none.
	Token string
}

// Client reads the API of one server.
type Client struct {
	options ClientOptions
	base    string
}

// NewClient makes a client. It asks nobody anything yet.
func NewClient(o ClientOptions) (*Client, error) {
	u := o.URL
	switch {
	case u == nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("a server is named by its URL, such as https://tofu.example.com")
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("the URL %s must have scheme, host and maybe a path", u.Redacted())
	case u.Scheme == "http" && !isLoopback(u.Hostname()) && !slices.Contains(o.PlainHTTP, u.Host):
		return nil, fmt.Errorf("%s is not https, and %s is neither this machine nor named by --plain-http", u.Redacted(), u.Host)
	}
	base := *u
	base.Path, base.RawPath = strings.TrimRight(u.Path, "/"), ""
	return &Client{options: o, base: base.String() + "/api/v1/providers"}, nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Host is the server's, with its port where it is not that of https.
func (c *Client) Host() string {
	if host, port, err := net.SplitHostPort(c.options.URL.Host); err == nil && port == "443" {
		return host
	}
	return c.options.URL.Host
}

// Providers lists the providers whose addresses have all words of a search; an empty
// one finds all.
func (c *Client) Providers(ctx context.Context, search string) (Providers, error) {
	all := Providers{Providers: []ProviderRef{}}
	err := c.pages(ctx, "", search, func(at string) (int, bool, error) {
		var page Providers
		err := c.get(ctx, at, &page)
		all.Providers, all.Total, all.Warnings = append(all.Providers, page.Providers...), page.Total, page.Warnings
		return len(page.Providers), page.Next != "", err
	})
	if isNotFound(err) {
		err = fmt.Errorf("%w at %s: %w", ErrNoAPI, c.options.URL.Redacted(), err)
	}
	return all, err
}

// Provider returns a provider with all of its versions. The error may be
// [provider.ErrProviderNotFound].
func (c *Client) Provider(ctx context.Context, a provider.Address) (Provider, error) {
	all := Provider{Versions: []VersionRef{}}
	err := c.pages(ctx, path(a.Host.ForDisplay(), a.Namespace, a.Type), "", func(at string) (int, bool, error) {
		var page Provider
		known := len(all.Versions)
		err := c.get(ctx, at, &page)
		page.Versions = slices.Concat(all.Versions, page.Versions)
		all = page
		return len(page.Versions) - known, page.Next != "", err
	})
	if isNotFound(err) {
		err = fmt.Errorf("%w: %s: %w", c.missing(ctx, provider.ErrProviderNotFound), a, err)
	}
	all.Next = ""
	return all, err
}

// Version returns what a release holds. The error may be [provider.ErrVersionNotFound].
func (c *Client) Version(ctx context.Context, a provider.Address, v provider.Version) (release Version, err error) {
	err = c.get(ctx, c.base+path(a.Host.ForDisplay(), a.Namespace, a.Type, v.String()), &release)
	if isNotFound(err) {
		err = fmt.Errorf("%w: %s %s: %w", c.missing(ctx, provider.ErrVersionNotFound), a, v, err)
	}
	return release, err
}

// missing says what a 404 means: what was asked for is not there, or there is no API
// that could have it.
func (c *Client) missing(ctx context.Context, what error) error {
	err := c.get(ctx, c.base, &Providers{})
	if isNotFound(err) || errors.Is(err, ErrNoAPI) {
		return ErrNoAPI
	}
	return what
}

func isNotFound(err error) bool {
	response, ok := errors.AsType[*provider.StatusError](err)
	return ok && response.Status == http.StatusNotFound
}

// path is the end of a URL.
func path(words ...string) string {
	var b strings.Builder
	for _, word := range words {
		b.WriteString("/" + url.PathEscape(word))
	}
	return b.String()
}

// pages reads the pages of a list, one after the other. It does not go where an answer
// says that the next one is: that may be a URL for others.
func (c *Client) pages(ctx context.Context, path, search string, read func(at string) (items int, more bool, err error)) error {
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
			return fmt.Errorf("%s: a page of the list is empty, and not the last one", c.base+path)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: the list has more than %d pages", c.base+path, maxPages)
}

// get reads one answer.
func (c *Client) get(ctx context.Context, at string, into any) error {
	target, err := url.Parse(at)
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
		return doc.Error(fmt.Errorf("%w at %s: the answer is of type %.100q", ErrNoAPI, c.options.URL.Redacted(), mediaType))
	}
	if err := bounded.DecodeJSON(doc.Bytes, into, maxValues); err != nil {
		return doc.Error(fmt.Errorf("%w at %s: the answer cannot be read: %w", ErrNoAPI, c.options.URL.Redacted(), err))
	}
	return nil
}
