package repository

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const (
	// maxTags is the maximum number of tags in a repository. maxTagBytes is their
	// maximum total size. A provider has a few hundred versions.
	maxTags     = 100_000
	maxTagBytes = 8 << 20
	// maxListValues limits the number of JSON values on a page of tags or repositories.
	maxListValues = maxTags + 100
	// maxReferrerValues limits the number of JSON values on a page of referrers. Each
	// referrer has about six values.
	maxReferrerValues = 16 << 10
	// maxStart is the number of bytes of a response that are read to detect a web page.
	// maxTitle is the number of bytes of a web page that are read to find its title.
	maxStart = 1 << 10
	maxTitle = 64 << 10
)

// checkResponses returns the layer of a registry's client that records the credentials
// in requests, marks requests to the registry at host, and checks responses. See
// [Options.client].
func checkResponses(next http.RoundTripper, host string, login *credentialState) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		login.record(httpclient.SentWith(req))
		req = req.WithContext(httpclient.ToRegistry(req.Context(), host)) // copies the request; the header is copied below
		req.Header = req.Header.Clone()
		// Without this header, Go requests gzip and doesn't report the length.
		req.Header.Set("Accept-Encoding", "identity")
		resp, err := next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		if err := checkResponse(req, resp); err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
		return resp, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// checkResponse checks a successful response before oras decodes it. The response must
// come from a registry, lists must be complete and within limits, and blobs must be
// stored under the right digest.
func checkResponse(req *http.Request, resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusCreated:
		return checkStored(req, resp)
	case http.StatusOK:
	default:
		return nil
	}
	values := listValues(req)
	switch {
	case values > 0:
		if err := checkNextPage(req, resp); err != nil {
			return err
		}
		return readList(req, resp, values)
	case isHTML(resp.Header) || isManifest(req):
		return checkPage(req, resp)
	}
	return nil
}

// checkStored returns an error if the registry reports that it stored a blob under a
// different digest. Some registries don't report a digest.
func checkStored(req *http.Request, resp *http.Response) error {
	want, got := digest.Digest(req.URL.Query().Get("digest")), digest.Digest(resp.Header.Get("Docker-Content-Digest"))
	if want.Validate() == nil && got.Validate() == nil && got != want && got.Algorithm() == want.Algorithm() {
		return &sums.MismatchError{Name: "blob as stored by the registry", Got: got.String(), Want: want.String()}
	}
	return nil
}

// listValues returns the maximum number of JSON values if the response is a list, or 0
// if it is not a list.
func listValues(req *http.Request) int {
	switch path := req.URL.Path; {
	case req.Method != http.MethodGet:
	case strings.HasSuffix(path, "/tags/list"), path == "/v2/_catalog":
		return maxListValues
	case strings.Contains(path, "/referrers/sha256:"):
		return maxReferrerValues
	}
	return 0
}

func isManifest(req *http.Request) bool { return strings.Contains(req.URL.Path, "/manifests/") }

func isHTML(h http.Header) bool {
	mediaType, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return mediaType == "text/html"
}

// readList reads a page of a list into memory and checks it.
func readList(req *http.Request, resp *http.Response, values int) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, artifact.MaxManifestSize+1))
	_ = resp.Body.Close()
	if err != nil {
		return fmt.Errorf("reading the list: %w", err)
	}
	if len(data) > artifact.MaxManifestSize {
		return fmt.Errorf("list page exceeds %d bytes", artifact.MaxManifestSize)
	}
	if isHTML(resp.Header) || looksLikePage(data) {
		return newPageError(req, resp, data)
	}
	if err := bounded.CheckJSON(data, values); err != nil {
		return fmt.Errorf("reading a list page: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return nil
}

// checkPage returns an error if the response is a web page instead of content. It
// accepts other content that is labeled as a web page, and web pages that were
// requested by their digest.
func checkPage(req *http.Request, resp *http.Response) error {
	if req.Method == http.MethodHead {
		if isManifest(req) && isHTML(resp.Header) {
			return newPageError(req, resp, nil)
		}
		return nil
	}
	start, err := io.ReadAll(io.LimitReader(resp.Body, maxStart))
	if err == nil && looksLikePage(start) {
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(resp.Body, maxTitle-maxStart))
		start = append(start, rest...)
		asked := strings.HasSuffix(req.URL.Path, "/"+digest.FromBytes(start).String())
		if err == nil && !asked {
			return newPageError(req, resp, start)
		}
	}
	// If the connection fails here, reading the body returns the error again.
	body := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), &broken{err}, body), body}
	return nil
}

// broken is a reader that returns err or, if err is nil, io.EOF.
type broken struct{ err error }

func (b *broken) Read([]byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	return 0, io.EOF
}

// looksLikePage reports whether the data starts like HTML. Manifests and lists never
// start this way.
func looksLikePage(data []byte) bool {
	start := bytes.TrimLeftFunc(data[:min(len(data), maxStart)], unicode.IsSpace)
	start = bytes.ToLower(start[:min(len(start), len("<!doctype html"))])
	return bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
}

func newPageError(req *http.Request, resp *http.Response, data []byte) error {
	_ = resp.Body.Close()
	sent := httpclient.SentWith(req)
	return fmt.Errorf("%w, got %s with content type %q",
		httpclient.ErrPage, httpclient.Excerpt("text/html", data, sent), line(sent.Text(resp.Header.Get("Content-Type"))))
}

// listedPages contains the URLs of the requested pages of a list. A list is read
// sequentially.
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
