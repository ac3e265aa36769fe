package origin

import (
	"bytes"
	"fmt"
	"mime"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// PageError says that a web page was answered in the place of a registry's
// document. Portals, logins and proxies do so.
type PageError struct {
	// URL is without query.
	URL string
	// Page describes it by its title, when it has one.
	Page string
}

func (e *PageError) Error() string {
	return fmt.Sprintf("GET %s: the answer is not the registry's but %s", e.URL, e.Page)
}

// Kind is [provider.Transient].
func (e *PageError) Kind() provider.ErrorKind { return provider.Transient }

// isPage knows HTML by its type, or by its beginning: no JSON begins so.
func isPage(doc httpclient.Document) bool {
	mediaType, _, _ := mime.ParseMediaType(doc.Header.Get("Content-Type"))
	return mediaType == "text/html" || bytes.HasPrefix(bytes.TrimSpace(doc.Bytes), []byte("<"))
}
