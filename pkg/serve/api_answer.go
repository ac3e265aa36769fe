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

// isAPI tells whether a path is one of the API, which has errors of its own form.
func isAPI(words []string) bool { return len(words) > 0 && words[0] == "api" }

// writeProblem writes an error as https://www.rfc-editor.org/rfc/rfc9457 has it.
func (x *exchange) writeProblem(status int, text string) {
	title := http.StatusText(status)
	if title == "" {
		title = "Client Closed Request" // see statusGone
	}
	data, err := json.Marshal(api.Problem{Type: "about:blank", Title: title, Status: status, Detail: text})
	if err != nil {
		data = []byte("{}")
	}
	x.writeBytes(status, api.ProblemType, append(data, '\n'))
}

// answerTagged writes a document with an ETag of its bytes, or that the client has it.
func (s *Server) answerTagged(x *exchange, document any, how state) error {
	data, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	x.know(how)
	s.personal(x)
	if x.unchanged(tagOf(data)) {
		return nil
	}
	x.writeBytes(http.StatusOK, "application/json", append(data, '\n'))
	return nil
}

// tagOf makes an ETag of the bytes of an answer.
func tagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`
}

// personal keeps what not everybody may see out of the caches of others.
func (s *Server) personal(x *exchange) {
	if s.options.Rules().Open() {
		return
	}
	x.w.Header().Set("Cache-Control", "private, no-cache")
	x.w.Header().Set("Vary", "Authorization")
}

// unchanged sets the ETag of an answer, and answers that the client has it, if so.
func (x *exchange) unchanged(tag string) bool {
	x.w.Header().Set("Etag", tag)
	if !hasTag(x.r.Header.Values("If-None-Match"), tag) {
		return false
	}
	x.w.WriteHeader(http.StatusNotModified)
	return true
}

// hasTag looks for an ETag among those that a client has.
// https://www.rfc-editor.org/rfc/rfc9110#name-if-none-match
func hasTag(headers []string, tag string) bool {
	for _, header := range headers {
		for one := range strings.SplitSeq(header, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}

const (
	// maxPage bounds the number of a page.
	maxPage = 1_000_000
	// maxSearch bounds a search, in bytes.
	maxSearch = 200
)

// page reads the number of the page that is asked for; the first is 1.
func (x *exchange) page() (int, error) {
	text := x.r.URL.Query().Get("page")
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPage {
		return 0, &problem{http.StatusBadRequest, "the page must be a number from 1 on"}
	}
	return n, nil
}

// pageOf gives the items of a page, and whether there are more.
func pageOf[T any](all []T, page, size int) (items []T, more bool) {
	from := min((page-1)*size, len(all))
	to := min(from+size, len(all))
	return all[from:to], to < len(all)
}
