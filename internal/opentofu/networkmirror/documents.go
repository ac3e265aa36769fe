package networkmirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Limits for documents. A version takes up about 15 bytes in index.json, and a package
// about 300 bytes in VERSION.json.
const (
	maxIndex         = 1 << 20 // bytes
	maxVersions      = 10_000
	maxDocument      = 1 << 20 // bytes
	maxPlatforms     = 256
	maxHashes        = 64 // per platform
	maxIndexValues   = 4 * maxVersions
	maxPackageValues = 16 << 10
)

// document is a parsed VERSION.json.
type document struct {
	// name is the URL of the document. It is used only in messages.
	name     string
	archives map[provider.Platform]archive
}

// archive is an entry in VERSION.json.
type archive struct {
	url *url.URL
	// zh and h1 contain the listed hashes. Hashes of other kinds are ignored.
	zh []digest.Digest
	h1 []string
}

// ParseURL parses the URL of a network mirror from the command line. The URL must use
// https, or http if its host is in plainHTTP. ParseURL adds a missing slash at the end.
func ParseURL(text string, plainHTTP []string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, httpclient.RedactError(err)
	}
	isPlain := u.Scheme == "http" && slices.Contains(plainHTTP, u.Host)
	switch shown := httpclient.RedactURL(u); {
	case u.Hostname() == "" || u.Scheme != "https" && !isPlain:
		return nil, fmt.Errorf("invalid network mirror URL %s: want https, or http with --plain-http HOST[:PORT]", shown)
	case u.User != nil:
		return nil, fmt.Errorf("the URL %s must not contain credentials; use a credentials block in the CLI configuration or a TF_TOKEN_ variable", shown)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("the URL %s must not contain a query or a fragment", shown)
	case !strings.HasSuffix(u.Path, "/"):
		return u.JoinPath("/"), nil
	}
	return u, nil
}

// token returns the token for the mirror's host.
func (s *Source) token(ctx context.Context) (origin.Token, error) {
	host, err := provider.ParseHost(svchost.ForDisplay(s.base.Host))
	if err != nil {
		return origin.Token{}, nil //nolint:nilerr // no token can be configured for an IPv6 address
	}
	token, err := s.options.Token(ctx, host)
	if err != nil {
		return token, fmt.Errorf("looking up the token for %s: %w", host.ForDisplay(), err)
	}
	return token, nil
}

// get requests a JSON document about a provider. Unlike OpenTofu, it supports providers
// whose host has a port, because it doesn't parse the path as a URL.
func (s *Source) get(ctx context.Context, a provider.Address, name string, limit int64, values int, into any) (httpclient.Document, error) {
	token, err := s.token(ctx)
	if err != nil {
		return httpclient.Document{}, err
	}
	header := http.Header{"Accept": {"application/json"}}
	token.Authorize(header)
	at := s.base.ResolveReference(&url.URL{Path: path.Join(string(a.Host), a.Namespace, a.Type, name)})
	doc, err := httpclient.Get(ctx, s.options.HTTP, at, httpclient.Request{Header: header, Limit: limit})
	if err != nil {
		return doc, token.Refused(err)
	}
	if err := doc.RequireJSON(); err != nil {
		return doc, err
	}
	return doc, doc.DecodeJSON(into, values)
}

// index requests the version list.
func (s *Source) index(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	var response struct {
		Versions map[string]json.RawMessage `json:"versions"`
	}
	doc, err := s.get(ctx, a, "index.json", maxIndex, maxIndexValues, &response)
	if httpclient.IsNotFound(err) {
		return nil, fmt.Errorf("%w: %w", provider.ErrProviderNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	if len(response.Versions) > maxVersions {
		return nil, fmt.Errorf("GET %s: list has %d versions; the maximum is %d", httpclient.RedactURL(doc.URL), len(response.Versions), maxVersions)
	}
	var versions []provider.Version
	for text := range response.Versions {
		if v, err := provider.ParseVersion(text); err == nil {
			versions = append(versions, v)
		}
	}
	return provider.NewestFirst(versions), nil
}

// document returns the packages of a listed version.
func (s *Source) document(ctx context.Context, a provider.Address, v provider.Version) (document, error) {
	versions, err := s.Versions(ctx, a)
	if err != nil {
		return document{}, err
	}
	if !slices.Contains(versions, v) {
		return document{}, &provider.VersionError{Address: a, Version: v, Where: httpclient.RedactURL(s.base), Have: versions}
	}
	found, err := s.documents.Get(ctx, releaseKey{a, v}, func(ctx context.Context) (document, error) { return s.packages(ctx, a, v) })
	if err != nil {
		return document{}, &provider.Error{Op: "listing packages of", Address: a, Version: v, Err: err}
	}
	return found, nil
}

// packages requests the package list of a version. Invalid platforms are ignored.
func (s *Source) packages(ctx context.Context, a provider.Address, v provider.Version) (document, error) {
	var response struct {
		Archives map[string]struct {
			URL    string   `json:"url"`
			Hashes []string `json:"hashes"`
		} `json:"archives"`
	}
	doc, err := s.get(ctx, a, v.String()+".json", maxDocument, maxPackageValues, &response)
	if err != nil {
		return document{}, err
	}
	d := document{name: httpclient.RedactURL(doc.URL), archives: map[provider.Platform]archive{}}
	if len(response.Archives) > maxPlatforms {
		return d, fmt.Errorf("GET %s: list has %d platforms; the maximum is %d", d.name, len(response.Archives), maxPlatforms)
	}
	for name, entry := range response.Archives {
		platform, err := provider.ParsePlatform(name)
		if err != nil {
			continue
		}
		if d.archives[platform], err = parseArchive(doc.URL, entry.URL, entry.Hashes); err != nil {
			return d, doc.Error(fmt.Errorf("GET %s: %s: %w", d.name, platform, err))
		}
	}
	return d, nil
}

// parseArchive parses an entry in the document at base.
func parseArchive(base *url.URL, location string, hashes []string) (a archive, err error) {
	if location == "" {
		return a, errors.New("url is not set")
	}
	if a.url, err = httpclient.Resolve(base, location); err != nil {
		return a, fmt.Errorf("url: %w", err)
	}
	if len(hashes) > maxHashes {
		return a, fmt.Errorf("%d hashes; the maximum is %d", len(hashes), maxHashes)
	}
	for _, hash := range hashes {
		switch scheme, _, _ := strings.Cut(hash, ":"); scheme {
		case "zh":
			d, err := sums.ParseZH(hash)
			if err != nil {
				return a, err
			}
			if !slices.Contains(a.zh, d) {
				a.zh = append(a.zh, d)
			}
		case "h1":
			h1, err := sums.ParseH1(hash)
			if err != nil {
				return a, err
			}
			a.h1 = append(a.h1, h1)
		}
	}
	if len(hashes) > 0 && len(a.zh)+len(a.h1) == 0 {
		return a, errors.New("all hashes are of unknown kinds")
	}
	return a, nil
}
