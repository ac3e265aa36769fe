package origin

import "github.com/tofu-oci/tofu-oci/internal/httpclient"

// ErrPage is returned if the response is a web page instead of a registry's document.
// Captive portals, login pages, and proxies return such pages.
var ErrPage = httpclient.ErrPage
