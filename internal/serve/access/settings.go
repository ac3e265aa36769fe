package access

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Settings describes a server and its surroundings. A zero value selects the default.
type Settings struct {
	// Title is the title of the web pages.
	Title string
	// BaseURL is the URL of the server as seen by clients. It is nil if the URL is
	// derived from each request.
	BaseURL *url.URL
	// TrustedProxies lists the networks of proxies whose X-Forwarded headers are
	// honored.
	TrustedProxies []netip.Prefix
	// DefaultHost is the assumed host of releases without an address.
	DefaultHost svchost.Hostname
	// OCIModules reports whether capable clients are referred to the registry for
	// modules. RedirectDownloads reports whether clients are redirected to the
	// registry's storage for archives.
	OCIModules, RedirectDownloads bool
	// SyncResults lists the files with the results of sync apply. The pages show these
	// results.
	SyncResults []string
	// URLSigningKey is the file with the keys that sign links to archives. See
	// [ReadArchiveKey]. If empty, the server creates a key.
	URLSigningKey string
}

type serverBlock struct {
	Range             hcl.Range      `hcl:",type_range"`
	Title             *string        `hcl:"title"`
	BaseURL           hcl.Expression `hcl:"base_url"`
	TrustedProxies    hcl.Expression `hcl:"trusted_proxies"`
	DefaultHost       hcl.Expression `hcl:"default_host"`
	ModuleLocation    hcl.Expression `hcl:"module_location"`
	RedirectDownloads *bool          `hcl:"redirect_downloads"`
	SyncResults       hcl.Expression `hcl:"sync_results"`
	URLSigningKey     hcl.Expression `hcl:"url_signing_key"`
}

// read returns the settings. Paths are relative to dir.
func (b serverBlock) read(dir string) (s Settings, err error) {
	if b.Title != nil {
		s.Title = *b.Title
	}
	file := func(path string) (string, error) {
		switch {
		case path == "":
			return "", errors.New("want the path of a file")
		case filepath.IsAbs(path):
			return path, nil
		}
		return filepath.Join(dir, path), nil
	}
	s.RedirectDownloads = b.RedirectDownloads != nil && *b.RedirectDownloads
	err = stricthcl.Join(
		optional("base_url", b.BaseURL, &s.BaseURL, url.Parse),
		optional("default_host", b.DefaultHost, &s.DefaultHost, provider.ParseHost),
		optional("module_location", b.ModuleLocation, &s.OCIModules, parseLocation),
		optionalList("trusted_proxies", b.TrustedProxies, &s.TrustedProxies, parseNetwork),
		optionalList("sync_results", b.SyncResults, &s.SyncResults, file),
		optional("url_signing_key", b.URLSigningKey, &s.URLSigningKey, file),
	)
	return s, err
}

// parseLocation reports whether modules are located in the OCI registry.
func parseLocation(text string) (inRegistry bool, err error) {
	if text != "archive" && text != "oci" {
		return false, fmt.Errorf("invalid location %q: want archive or oci", text)
	}
	return text == "oci", nil
}

func parseNetwork(text string) (netip.Prefix, error) {
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return network, fmt.Errorf("invalid network %q: want a network, such as 10.0.0.0/8 or 127.0.0.1/32", text)
	}
	return network, nil
}

// optional parses the string in an argument if the argument is set.
func optional[T any](name string, expr hcl.Expression, to *T, parse func(string) (T, error)) (err error) {
	if isSet(expr) {
		*to, err = value(name, expr, parse)
	}
	return err
}

// optionalList parses the strings in an argument if the argument is set.
func optionalList[T comparable](name string, expr hcl.Expression, to *[]T, parse func(string) (T, error)) (err error) {
	if isSet(expr) {
		*to, err = list(name, expr, parse)
	}
	return err
}
