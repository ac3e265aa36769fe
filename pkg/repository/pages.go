package repository

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
)

// listedPages contains the URLs of the pages of one list that were requested. A list is
// read sequentially.
type listedPages map[string]bool

type listedPagesKey struct{}

// withPages returns a context for reading all pages of a list. Registries that name an
// earlier page as the next page would otherwise repeat their pages up to the limit.
func withPages(ctx context.Context) context.Context {
	return context.WithValue(ctx, listedPagesKey{}, listedPages{})
}

// checkNextPage removes the link to the next page from a response if that page was already
// read. It returns an error if the link is too long or refers to another server.
func checkNextPage(req *http.Request, resp *http.Response) error {
	link := resp.Header.Get("Link")
	if err := httpclient.CheckLength(link); err != nil {
		return fmt.Errorf("next page: %w", err)
	}
	pages, isList := req.Context().Value(listedPagesKey{}).(listedPages)
	if !isList {
		return nil
	}
	pages[pageURL(req.URL)] = true
	target, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	if link == "" {
		return nil
	}
	next, err := req.URL.Parse(target)
	if err != nil {
		return fmt.Errorf("next page: %w", err)
	}
	if pages[pageURL(next)] {
		resp.Header.Del("Link")
		return nil
	}
	return checkOrigin("the next page", next, req.URL)
}

// pageURL returns a URL with sorted arguments and without a fragment.
func pageURL(u *url.URL) string {
	page := *u
	page.RawQuery, page.Fragment = page.Query().Encode(), ""
	return page.String()
}
