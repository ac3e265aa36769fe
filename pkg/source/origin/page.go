package origin

import (
	"bytes"
	"mime"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrPage says that a web page was returned instead of a registry's document. Portals,
// logins, and proxies do so.
var ErrPage = provider.Errorf(provider.Transient, "expected a registry response")

// isPage knows HTML by its type, or by its beginning: no JSON begins so.
func isPage(doc httpclient.Document) bool {
	mediaType, _, _ := mime.ParseMediaType(doc.Header.Get("Content-Type"))
	return mediaType == "text/html" || bytes.HasPrefix(bytes.TrimSpace(doc.Bytes), []byte("<"))
}
