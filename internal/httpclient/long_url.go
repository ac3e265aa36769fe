package httpclient

import (
	"fmt"
	"net/url"
	"unicode/utf8"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxURL is the maximum length of a URL in bytes. Signed URLs have up to 4,000 bytes,
	// and most servers reject URLs with more than 8,000 bytes.
	maxURL = 16 << 10
	// maxShownURL is the maximum length of a URL in a message, in bytes.
	maxShownURL = 500
)

// ErrLongURL is returned if a URL from a server is too long.
var ErrLongURL = provider.Errorf(provider.Refused, "URL exceeds %d bytes", maxURL)

// CheckLength returns an [ErrLongURL] if a URL is too long to be requested.
func CheckLength(text string) error {
	if len(text) > maxURL {
		return fmt.Errorf("%w: %s", ErrLongURL, shortURL(RedactText(text)))
	}
	return nil
}

// checkLength is [CheckLength] for a parsed URL.
func checkLength(u *url.URL) error {
	// The common case needs no copy of the URL.
	if len(u.Path)+len(u.RawPath)+len(u.RawQuery)+len(u.Host)+len(u.Opaque) <= maxURL/2 {
		return nil
	}
	if len(u.String()) > maxURL {
		return fmt.Errorf("%w: %s", ErrLongURL, RedactURL(u))
	}
	return nil
}

// shortURL shortens a URL for messages.
func shortURL(text string) string {
	if len(text) <= maxShownURL {
		return text
	}
	end := maxShownURL
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
