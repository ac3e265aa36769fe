package httpclient

import (
	"bytes"
	"html"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

const (
	// maxExcerpt is the maximum size of an excerpt in bytes.
	maxExcerpt = 1 << 10
	// maxDrain is the maximum number of bytes that are read from an unexpected
	// response, so that the connection can be reused. For longer responses, opening a
	// new connection is cheaper.
	maxDrain = 64 << 10
)

// titlePattern matches the title of an HTML page.
var titlePattern = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// Excerpt shortens a response body for an error message. The result is one line of at
// most 1 KiB, without control characters or the credentials that were sent. For an HTML
// page, Excerpt returns only the title, which identifies the proxy or login form that
// responded.
func Excerpt(contentType string, body []byte, sent text.Secrets) string {
	body = body[:min(len(body), maxDrain)]
	mediaType, _, _ := mime.ParseMediaType(contentType)
	start := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), maxExcerpt)]))
	isPage := bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
	if mediaType != "text/html" && !isPage {
		return oneLine(sent.Text(string(body)))
	}
	if title := titlePattern.FindSubmatch(body); title != nil {
		return `an HTML page titled "` + oneLine(sent.Text(html.UnescapeString(string(title[1])))) + `"`
	}
	return "an HTML page"
}

// oneLine joins words with single spaces and truncates the text at a character
// boundary.
func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if len(s) <= maxExcerpt {
		return s
	}
	cut := maxExcerpt
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// excerptOf returns a response's excerpt and closes the body. It ignores read errors,
// because the caller reports the status.
func excerptOf(resp *http.Response) string {
	defer resp.Body.Close()
	// The title can follow a long stylesheet.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxDrain))
	return Excerpt(resp.Header.Get("Content-Type"), body, SentWith(resp.Request))
}
