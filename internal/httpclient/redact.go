package httpclient

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// RedactURL returns a URL without the query, the fragment, and user information,
// because signed download URLs contain secrets in these parts. It also hides path
// segments that could be tokens, and shortens long URLs. If u is nil, it returns "".
func RedactURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	clean := *u
	clean.User, clean.RawQuery, clean.ForceQuery = nil, "", false
	clean.Fragment, clean.RawFragment = "", ""
	if clean.Opaque != "" {
		clean.Opaque = hidden
		return clean.String()
	}
	path := clean.EscapedPath()
	return shortURL(strings.TrimSuffix(clean.String(), path)) + redactPath(path)
}

// urlInText matches a URL in text. Its groups are the host, the path, and the rest.
// Trailing punctuation is not part of the URL.
var urlInText = regexp.MustCompile(`([a-z]*://)([^\s"/?#]*)(/?(?:[^\s"?#]*[^\s"?#:;,.)])?)(?:[?#](?:[^\s"]*[^\s":;,.)])?)?`)

// RedactText applies [RedactURL] to all URLs in text.
func RedactText(text string) string {
	return urlInText.ReplaceAllStringFunc(text, func(found string) string {
		parts := urlInText.FindStringSubmatch(found)
		host, path := parts[2], parts[3]
		if login := strings.LastIndexByte(path, '@'); login >= 0 && !hostInText.MatchString(host) {
			host, path, _ = strings.Cut(path[login+1:], "/") // the user name or password contained a slash
			path = "/" + path
		}
		return parts[1] + shortURL(host[strings.LastIndexByte(host, '@')+1:]) + redactPath(path)
	})
}

// hostInText matches a host with an optional port and an optional login, as opposed to
// the start of a login.
var hostInText = regexp.MustCompile(`@|^[^:%]*(?::[0-9]*)?$`)

// RedactError redacts the URL of a *[url.Error], which is the error type of http.Client
// and url.Parse. It returns any other error unchanged.
func RedactError(err error) error {
	var failure *url.Error
	if !errors.As(err, &failure) {
		return err
	}
	clean := *failure
	clean.Err = redacted(failure.Err)
	if u, parseErr := url.Parse(failure.URL); parseErr != nil {
		clean.URL = "(invalid URL)"
	} else {
		clean.URL = RedactURL(u)
	}
	return &clean
}

// badLocation is the prefix of net/http's error for an invalid redirect. The error
// contains the complete URL.
const badLocation = "failed to parse Location header"

// redacted returns an error whose message contains only redacted URLs.
func redacted(err error) error {
	if strings.HasPrefix(err.Error(), badLocation) {
		return text.WithText(err, "response redirects to an invalid URL")
	}
	return text.WithText(err, RedactText(err.Error()))
}

// Do sends a request. The errors contain no secrets. See [RedactError] and [SentWith].
func Do(client *http.Client, req *http.Request) (*http.Response, error) {
	resp, err := client.Do(req)
	if err != nil {
		// If CheckRedirect fails, the response body is already closed.
		return nil, SentWith(req).Error(RedactError(err))
	}
	return resp, nil
}
