package httpclient

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// RedactURL returns the URL without query, fragment and user information: signed
// download URLs carry their secret there. Parts of the path that may be tokens are
// hidden too. It is empty for nil.
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
	return strings.TrimSuffix(clean.String(), path) + redactPath(path)
}

// inText is a URL among other words: where it leads, its path, and the rest. Its last
// character is none of the sentence's.
var urlInText = regexp.MustCompile(`([a-z]*://)([^\s"/?#]*)(/?(?:[^\s"?#]*[^\s"?#:;,.)])?)(?:[?#](?:[^\s"]*[^\s":;,.)])?)?`)

// RedactText does what [RedactURL] does to the URLs in a text.
func RedactText(text string) string {
	return urlInText.ReplaceAllStringFunc(text, func(found string) string {
		parts := urlInText.FindStringSubmatch(found)
		return parts[1] + parts[2][strings.LastIndexByte(parts[2], '@')+1:] + redactPath(parts[3])
	})
}

// RedactError returns err with the URL redacted, as in [RedactURL], when err is a
// *[url.Error], which http.Client and url.Parse make of every failure.
func RedactError(err error) error {
	var failure *url.Error
	if !errors.As(err, &failure) {
		return err
	}
	clean := *failure
	clean.Err = redacted(failure.Err)
	if u, parseErr := url.Parse(failure.URL); parseErr != nil {
		clean.URL = "(a URL that can't be read)"
	} else {
		clean.URL = RedactURL(u)
	}
	return &clean
}

// badLocation is how net/http begins what it says about a redirect that it can't read,
// with all of the address in it.
const badLocation = "failed to parse Location header"

// redacted returns an error with the URLs in its text redacted.
func redacted(err error) error {
	if strings.HasPrefix(err.Error(), badLocation) {
		return text.WithText(err, "the answer leads to a URL that can't be read")
	}
	return text.WithText(err, RedactText(err.Error()))
}

// Do makes a request whose errors have no secret in them, see [RedactError] and [SentWith].
func Do(client *http.Client, req *http.Request) (*http.Response, error) {
	resp, err := client.Do(req)
	if err != nil {
		// CheckRedirect's refusal comes with a response whose body is closed.
		return nil, SentWith(req).Error(RedactError(err))
	}
	return resp, nil
}
