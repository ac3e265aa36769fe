package serve

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
)

const (
	// maxPage limits the page number.
	maxPage = 1_000_000
	// providersOnPage and versionsOnPage are the numbers of providers and versions per
	// page.
	providersOnPage, versionsOnPage = 50, 20
)

// asJSON returns a handler that calls describe and responds with the result as JSON.
func asJSON[T any](describe func(*Server, *exchange) (T, error)) func(*Server, *exchange) error {
	return responding("application/json", describe, func(_ *Server, _ *exchange, found T) ([]byte, error) {
		data, err := json.Marshal(found)
		if err != nil {
			return nil, fmt.Errorf("writing the response: %w", err)
		}
		return append(data, '\n'), nil
	})
}

// converted returns a function that calls describe and converts the result.
func converted[T, A any](describe func(*Server, *exchange) (T, error), convert func(*Server, *exchange, T) A) func(*Server, *exchange) (A, error) {
	return func(s *Server, x *exchange) (none A, err error) {
		found, err := describe(s, x)
		if err != nil {
			return none, err
		}
		return convert(s, x, found), nil
	}
}

// responding returns a handler that calls describe and responds with the encoded result
// and its ETag.
func responding[T any](mediaType string, describe func(*Server, *exchange) (T, error), encode func(*Server, *exchange, T) ([]byte, error)) func(*Server, *exchange) error {
	return func(s *Server, x *exchange) (err error) {
		if x.base, err = s.base(x.r); err != nil {
			return err
		}
		found, err := describe(s, x)
		if err != nil {
			return err
		}
		data, err := encode(s, x, found)
		if err != nil {
			return err
		}
		s.setPrivate(x)
		if !x.notModified(etagOf(data)) {
			x.writeBytes(http.StatusOK, mediaType, data)
		}
		return nil
	}
}

// apiDescription responds with the OpenAPI description of the API.
func (s *Server) apiDescription(x *exchange) error {
	x.Header().Set("Cache-Control", "public, no-cache")
	x.writeBytes(http.StatusOK, "application/json", api.OpenAPI())
	return nil
}

// etagOf returns the ETag of a response body.
func etagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`
}

// setPrivate prevents shared caches from storing the response if access is restricted.
func (s *Server) setPrivate(x *exchange) {
	if s.options.Rules().AllowAll() {
		return
	}
	x.Header().Set("Cache-Control", "private, no-cache")
	x.Header().Set("Vary", "Authorization")
}

// notModified sets the ETag of a response. It reports whether it responded with 304
// because the client already has the current version.
func (x *exchange) notModified(tag string) bool {
	x.Header().Set("Etag", tag)
	// See https://www.rfc-editor.org/rfc/rfc9110#name-if-none-match.
	for one := range strings.SplitSeq(strings.Join(x.r.Header.Values("If-None-Match"), ","), ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
			x.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}

// page returns the requested page number, starting at 1.
func (x *exchange) page() (int, error) {
	text := x.r.URL.Query().Get("page")
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPage {
		return 0, &problem{http.StatusBadRequest, "invalid page: want a number of at least 1"}
	}
	return n, nil
}

// pageOf returns the items on a page and reports whether more items follow.
func pageOf[T any](all []T, page, size int) (items []T, more bool) {
	from := min((page-1)*size, len(all))
	to := min(from+size, len(all))
	return all[from:to], to < len(all)
}
