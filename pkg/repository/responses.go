package repository

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const (
	// maxTags bounds the tags of a repository, and maxTagBytes their text. A
	// provider has some hundreds of versions.
	maxTags     = 100_000
	maxTagBytes = 8 << 20
	// maxListValues bounds the JSON values on a page of either list.
	maxListValues = maxTags + 100
	// maxReferrerValues bounds those of a page of referrers, which have some six
	// each.
	maxReferrerValues = 16 << 10
	// maxStart is how much of an answer is read to see whether it is a page, and
	// maxTitle how much of a page to find its title, in bytes.
	maxStart = 1 << 10
	maxTitle = 64 << 10
)

// checkResponses is the layer of a registry's client that sees each request as it is sent,
// and each response first.
func checkResponses(next http.RoundTripper, login *credentialState) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		login.record(httpclient.SentWith(req))
		req = req.WithContext(req.Context()) // a copy, as is the header
		req.Header = req.Header.Clone()
		// Go would request gzip by itself, and then know no length.
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

// checkAnswer looks at a good answer before the library does: that it is a
// registry's, that a list is whole and has no more in it than is decoded, and that
// a blob was stored as what it is.
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
		return readList(req, resp, values)
	case isHTML(resp.Header) || isManifest(req):
		return checkPage(req, resp)
	}
	return nil
}

// checkStored refuses the end of an upload when the registry says that it has
// stored something else. Not all of them say what.
func checkStored(req *http.Request, resp *http.Response) error {
	want, got := digest.Digest(req.URL.Query().Get("digest")), digest.Digest(resp.Header.Get("Docker-Content-Digest"))
	if want.Validate() == nil && got.Validate() == nil && got != want && got.Algorithm() == want.Algorithm() {
		return &sums.MismatchError{Name: "blob as the registry stored it", Got: got.String(), Want: want.String()}
	}
	return nil
}

// listValues bounds the values of an answer that is a list; else it is 0.
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

// readList reads a page of a list whole.
func readList(req *http.Request, resp *http.Response, values int) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, artifact.MaxManifestSize+1))
	_ = resp.Body.Close()
	if err != nil {
		return fmt.Errorf("the list broke off: %w", err)
	}
	if len(data) > artifact.MaxManifestSize {
		return fmt.Errorf("a page of the list has more than %d bytes", artifact.MaxManifestSize)
	}
	if isHTML(resp.Header) || looksLikePage(data) {
		return newPageError(req, resp, data)
	}
	if err := bounded.CheckJSON(data, values); err != nil {
		return fmt.Errorf("a page of the list is not read: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return nil
}

// checkPage refuses a web page in the place of content. What merely is of the type
// of one passes, and so does a page that was asked for by its digest.
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
	// An error of the connection comes again where the rest is read.
	body := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), &broken{err}, body), body}
	return nil
}

// broken gives an error once, when there is one.
type broken struct{ err error }

func (b *broken) Read([]byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	return 0, io.EOF
}

// looksLikePage knows HTML by its beginning. No manifest and no list begins so.
func looksLikePage(data []byte) bool {
	start := bytes.TrimLeftFunc(data[:min(len(data), maxStart)], unicode.IsSpace)
	start = bytes.ToLower(start[:min(len(start), len("<!doctype html"))])
	return bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
}

// ErrPage reports that a registry sent a web page with status 200, as portals, login pages
// and proxies do.
var ErrPage = provider.Errorf(provider.Transient, "the answer is not the registry's")

func newPageError(req *http.Request, resp *http.Response, data []byte) error {
	_ = resp.Body.Close()
	sent := httpclient.SentWith(req)
	return fmt.Errorf("%w but %s, of content type %q",
		ErrPage, httpclient.Excerpt("text/html", data, sent), line(sent.Text(resp.Header.Get("Content-Type"))))
}
