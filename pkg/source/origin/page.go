package origin

import (
	"bytes"
	"mime"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrPage is returned if the response is a web page instead of a registry's document.
// Captive portals, login pages, and proxies return such pages.
var ErrPage = provider.Errorf(provider.Transient, "expected a registry response")

// isPage reports whether a document is HTML, based on its content type or its first
// character. JSON never starts with this character.
func isPage(doc httpclient.Document) bool {
	mediaType, _, _ := mime.ParseMediaType(doc.Header.Get("Content-Type"))
	return mediaType == "text/html" || bytes.HasPrefix(bytes.TrimSpace(doc.Bytes), []byte("<"))
}
